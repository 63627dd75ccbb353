"""How each format is opened: what a user does with a file of it."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import rich
import typer
from typer.main import get_command

from arm_cortex_m.firmware import board
from arm_cortex_m.firmware.manifest import read_manifest
from arm_ethosu.vela_ini import VelaIni
from arm_tosa_core.accuracy.recipe import read_recipe
from arm_tosa_core.accuracy.scheme import read_scheme
from arm_tosa_core.cli.files import read_tosa
from arm_tosa_core.cli.main import app
from arm_tosa_core.exir.model_explorer import graph_file
from arm_tosa_core.flow import cache
from arm_tosa_core.llm.tokenizer import read_tokenizer
from arm_tosa_core.plugin.chip import read_chips
from arm_tosa_core.support.cache_folder import cache_folder
from arm_tosa_core.support.errors import ArmTosaError
from arm_tosa_core.sweep import quantized
from arm_tosa_core.sweep.journal import Journal
from arm_tosa_core.sweep.limits import Limits, answer
from arm_tosa_core.sweep.point import Result
from arm_tosa_core.sweep.space import read_space

from . import seeds


class Opening(NamedTuple):
    """What is done with a file of a seed's name, in a folder of seeds.

    Args:
        often: compared with the others; those that start a process with ExecuTorch take seconds.
    """

    seed: str
    name: str
    run: Callable[[Path], None]
    often: int = 5


def _command(*words: str) -> Callable[[Path], None]:
    def run(_folder: Path) -> None:
        with contextlib.suppress(typer.Exit):  # with an error that was printed
            get_command(app).main(list(words), prog_name="arm-tosa", standalone_mode=False)

    return run


def _call(function: Callable[[Path], object]) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        try:
            function(folder)
        except ArmTosaError as error:
            print(f"error: {error}")

    return run


def _ini(folder: Path) -> None:
    ini = VelaIni(folder / "vela.ini")
    ini.require("Ethos_U55_High_End_Embedded", "Shared_Sram")
    ini.memory_at("Ethos_U55_High_End_Embedded", "Axi0")


def _cached(folder: Path) -> None:
    """With its checksum made right again, as an attacker would."""
    content = (folder / "entry.lowered").read_bytes()
    rest = content[len(cache._MAGIC) + 32 :]
    name = (folder / "entry.name").read_text()
    cache_folder().mkdir(parents=True, exist_ok=True)
    (cache_folder() / name).write_bytes(cache._MAGIC + hashlib.sha256(rest).digest() + rest)
    entry = cache.load(name.removesuffix(cache._SUFFIX))
    if entry is not None:
        rich.print(entry.report)


def _journal(folder: Path) -> None:
    """Lines without checksums are taken as they are."""
    journal = Journal(folder / "study", seeds.STUDIED, seeds.ORIGIN, Limits(), judged=True)
    results = [Result(seeds.POINT, outcome) for outcome in journal.outcomes.values()]
    print(answer(results, [seeds.POINT.target], Limits(latency=1.0)))
    journal.close()


def _quantized(folder: Path) -> None:
    """With a checksum made right again."""
    file = folder / "kept.pt2"
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        record = json.loads((folder / "kept.json").read_bytes())
        record["sha256"] = quantized._sum(file.read_bytes(), record["accuracy"])
        (folder / "kept.json").write_text(json.dumps(record))
    if (found := quantized._loaded(file, "")) is not None and found.accuracy is not None:
        print(found.accuracy.value, found.accuracy.drop)


def _board(folder: Path) -> None:
    board.boards = lambda: {"acme": folder / "board"}  # as a package's entry point would add it
    print(board.find_board("acme"))


def _tokenizer(folder: Path) -> None:
    file = folder / "tokenizer.json"
    print(read_tokenizer(file.read_bytes(), file).encode("good words").ids)


OPENINGS = (
    Opening("npu.pte", "run", _command("run", "npu.pte", "--input", "x.npy"), 1),
    Opening("npu.pte", "extract", _command("extract", "npu.pte", "-o", "out")),
    Opening("npu.pte", "deploy", _command("deploy", "npu.pte", "-o", "new", "--board", "host")),
    Opening("npu.pte", "deploy, executorch", _command("deploy", "npu.pte", "-o", "new", "--format", "executorch")),
    Opening("npu.pte", "verify", _command("verify", "npu.pte", "--tosa", "npu.tosa"), 1),
    Opening("npu.tosa", "verify", _command("verify", "npu.pte", "--tosa", "npu.tosa"), 1),
    Opening("npu.vela", "run", _command("run", "npu.vela", "--input", "x8.npy"), 1),
    Opening("gpu.pte", "run", _command("run", "gpu.pte", "--input", "x.npy"), 1),
    Opening("tosa.pte", "extract", _command("extract", "tosa.pte", "-o", "out")),
    Opening("weights.ptd", "run", _command("run", "apart.pte", "--input", "x.npy", "--data", "weights.ptd"), 1),
    Opening("weights.ptd", "extract", _command("extract", "apart.pte", "-o", "out", "--data", "weights.ptd")),
    Opening("net.tosa", "run", _command("run", "net.tosa", "--input", "x.npy")),
    Opening("net.tosa", "compile", _command("compile", "net.tosa", "-t", "tosa", "-o", "again.tosa")),
    Opening(
        "net.tosa", "view", _call(lambda folder: json.dumps(graph_file(read_tosa(folder / "net.tosa"), "net.tosa")))
    ),
    Opening("net.vgf", "explain", _command("explain", "net.vgf")),
    Opening("net.vgf", "run", _command("run", "net.vgf", "--input", "x.npy")),
    Opening("net.pt2", "explain", _command("explain", "net.pt2", "-t", "tosa")),
    Opening("net.onnx", "explain", _command("explain", "net.onnx", "-t", "tosa-fp")),
    Opening("net.tflite", "explain", _command("explain", "net.tflite", "-t", "tosa-int")),
    Opening("x.npy", "run", _command("run", "net.tosa", "--input", "x.npy")),
    Opening("data.npz", "bundle", _command("compile", "net.pt2", "-t", "tosa", "-o", "b.pte", "--bundle", "data.npz")),
    Opening("vela.ini", "read", _call(_ini)),
    Opening("scheme.json", "read", _call(lambda folder: read_scheme(folder / "scheme.json"))),
    Opening("space.toml", "read", _call(lambda folder: read_space(folder / "space.toml"))),
    Opening("recipe.toml", "read", _call(lambda folder: read_recipe(folder / "recipe.toml"))),
    Opening("board/board.toml", "read", _call(_board)),
    Opening("chips/acme.toml", "read", _call(lambda folder: print(read_chips(folder / "chips")))),
    Opening("fw/arm-firmware.json", "read", _call(lambda folder: read_manifest(folder / "fw"))),
    Opening("fw/arm-firmware.json", "deploy", _command("deploy", "npu.pte", "-o", "fw", "--board", "host")),
    Opening("entry.lowered", "load", _call(_cached)),
    Opening("study/journal.log", "read", _call(_journal)),
    Opening("kept.json", "read", _call(_quantized)),
    Opening("kept.pt2", "read", _call(_quantized)),
    Opening("tokenizer.json", "read", _call(_tokenizer)),
)
