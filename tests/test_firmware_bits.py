"""Firmware end to end: deployed, built, and run on this machine and in QEMU, beside what it was made of."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from arm_cortex_m.firmware.kernels import ALIASES, KERNELS
from arm_cortex_m.kernels import FILES
from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core import lower
from arm_tosa_core.accuracy.random_inputs import random_inputs
from arm_tosa_core.cli.main import app
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.exir.pte_steps import method
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.loader import load
from build_tools import require
from firmware_words import NET_INPUTS, WORDS, deployed_words, invoke, net_pte

ethosu = pytest.importorskip("arm_runtime.ethosu")
#: What builds and runs firmware in QEMU.
BARE_METAL = ("cmake", "arm-none-eabi-gcc", "arm-none-eabi-g++", "qemu-system-arm")


CASES = {
    "host": ("host", "ethos-u55-128", "int8"),
    "QEMU": ("mps3-an547", "ethos-u55-128", "int8"),
    "QEMU, Cortex-M7": ("mps2-an500", "ethos-u55-128", "int8"),
    "QEMU, 16 bits, weights in SRAM": ("mps3-an547", "ethos-u85-256", "int16x8"),
}


@pytest.mark.parametrize("case", CASES)
def test_firmware_gives_the_programs_bits(case: str, tmp_path: Path) -> None:
    board, target, scheme = CASES[case]
    require(*(("cmake", "c++") if board == "host" else BARE_METAL))
    (tmp_path / "net.pte").write_bytes(net_pte(target, scheme))
    words = []
    for index, array in enumerate(NET_INPUTS):
        np.save(tmp_path / f"x{index}.npy", array.numpy())
        words += ["--input", tmp_path / f"x{index}.npy"]
    said = json.loads(invoke("deploy", "--json", tmp_path / "net.pte", "--board", board, "-o", tmp_path / "firmware"))
    assert {row["part"] for row in said["memory"]} == {"net: commands", "net: weights", "arena"}
    invoke("run", tmp_path / "firmware", *words, "--output", tmp_path / "firmware.npy")
    invoke("run", tmp_path / "net.pte", *words, "--output", tmp_path / "pte.npy")
    for index in range(2):
        one, other = (np.load(tmp_path / f"{name}_{index}.npy") for name in ("firmware", "pte"))
        assert one.dtype == other.dtype == np.float32 and np.array_equal(one, other)
        assert one.min() < one.max(), "of a constant, a comparison says nothing"


@pytest.mark.parametrize("target", ["ethos-u55-128", "cortex-m55"])
def test_a_tosa_file_gives_its_bits(target: str, tmp_path: Path) -> None:
    require(*BARE_METAL)
    (graph,) = (each.payload for each in delegates(net_pte("tosa-int", "int8")))
    (file := tmp_path / "net.tosa").write_bytes(graph)
    arrays, words = random_inputs(load(graph), 0), []
    for index, array in enumerate(arrays):
        np.save(tmp_path / f"x{index}.npy", array)
        words += ["--input", tmp_path / f"x{index}.npy"]
    invoke("deploy", file, "--target", target, "--board", "mps3-an547", "-o", tmp_path / "firmware")
    invoke("run", tmp_path / "firmware", *words, "--output", tmp_path / "y.npy")
    for index, wanted in enumerate(reference_model.run(graph, arrays)):
        made = np.load(tmp_path / f"y_{index}.npy")
        assert made.dtype == np.int8 and np.array_equal(made, wanted)
        assert made.min() < made.max(), "of a constant, a comparison says nothing"


def wanted_of_words(folder: Path) -> np.ndarray[Any, Any]:
    """What the delegates give: the NPU's on the functional model, the processor's on the TOSA reference model."""
    spec = EthosUCompileSpec("ethos-u55-128")
    program = torch.export.load(folder / "words.pt2")
    pte = lower(program, spec, remainder=FIRMWARE.remainder()).buffer
    steps, payloads = method(pte), delegates(pte)
    assert {each.backend_id for each in payloads} == {"EthosUBackend", "TOSABackend"}
    values: dict[int, Any] = {}
    for call in steps.calls:
        if call.operator == "dim_order_ops::_to_dim_order_copy.out":
            values[call.arguments[-1]] = WORDS.numpy().astype(np.int32)
        elif call.operator:
            scale, zero_point = (steps.values[number] for number in call.arguments[1:3])
            whole = values[call.arguments[0]].astype(np.int32) - zero_point
            return whole.astype(np.float32) * np.float32(scale)
        else:
            known = [number for number in call.arguments if number in values]
            made = call.arguments[len(known) :]
            own = [values[number] for number in known]
            payload = payloads[call.delegate].payload
            if payloads[call.delegate].backend_id == "EthosUBackend":
                results = ethosu.run(payload, own)
            else:  # it wants the shapes of memory, which a transposed tensor does not have in PyTorch
                shapes = [tensor.shape for tensor in load(payload).inputs]
                own = [array.reshape(shape) for array, shape in zip(own, shapes, strict=True)]
                results = reference_model.run(payload, own)
            for number, result in zip(made, results, strict=True):
                tensor = steps.tensor(number)
                values[number] = np.asarray(result).view(tensor.dtype).reshape(tensor.shape)
    raise AssertionError("the program ends with a conversion to real numbers")


def test_what_is_not_on_the_npu_is_computed_in_c(tmp_path: Path) -> None:
    require(*BARE_METAL)
    firmware = deployed_words(tmp_path, "mps3-an547")
    np.save(tmp_path / "x.npy", WORDS.numpy())
    invoke("run", firmware, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    made, wanted = np.load(tmp_path / "y.npy"), wanted_of_words(tmp_path)
    assert made.dtype == np.float32 and np.array_equal(made.ravel(), wanted.ravel())
    assert np.unique(made).size > 50


def test_wrong_data_is_an_error_and_no_crash(tmp_path: Path) -> None:
    """On this machine, under the sanitizers: a word that the table lacks, and a damaged command stream."""
    firmware = deployed_words(tmp_path, "host")
    flags = "-fsanitize=address,undefined -fno-sanitize-recover=all -Werror"
    configure = ["cmake", "--preset", "board", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_EXE_LINKER_FLAGS={flags}"]

    def run(words: np.ndarray[Any, Any]) -> subprocess.CompletedProcess[str]:
        for command in (configure, ["cmake", "--build", "build", "--parallel", "2"]):
            subprocess.run(command, cwd=firmware, check=True, capture_output=True, timeout=600)
        (tmp_path / "words_input0.bin").write_bytes(words.astype(np.int32).tobytes())
        return subprocess.run([firmware / "build" / "firmware"], cwd=tmp_path, capture_output=True, text=True)

    right = run(WORDS.numpy())
    assert right.returncode == 0 and "words: done" in right.stdout, right.stderr
    for word in (50, -1):
        wrong = WORDS.numpy().copy()
        wrong[0, 3] = word
        done = run(wrong)
        assert done.returncode == 1 and "words: words_run failed" in done.stdout, done.stderr
    assert "words, output0: 128 numbers agree with the TOSA reference model" in invoke("verify", firmware)
    data = firmware / "models" / "words_data.c"
    lines = data.read_text().splitlines()
    (start,) = (number for number, line in enumerate(lines) if "words_constant0[" in line)
    rows = range(start + 1, lines.index("};", start))
    right_rows = [lines[row] for row in rows]
    for row in rows:
        lines[row] = "    " + "7, " * lines[row].count(",")
    data.write_text("\n".join(lines) + "\n")
    manifest = firmware / "arm-firmware.json"
    said = json.loads(manifest.read_text())
    said["files"]["models/words_data.c"] = hashlib.sha256(data.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(said))
    other = CliRunner().invoke(app, ["verify", str(firmware)])
    assert other.exit_code == 1 and "differ: does not agree" in other.output
    for row, line in zip(rows, right_rows, strict=True):
        lines[row] = line
    (start,) = (number for number, line in enumerate(lines) if "words_commands0[" in line)
    lines[start + 4] = "    " + ", ".join(["0xff"] * 16) + ","
    data.write_text("\n".join(lines) + "\n")
    done = run(WORDS.numpy())
    assert done.returncode == 1 and "words: words_run failed" in done.stdout, done.stderr


def test_the_page_lists_the_kernels() -> None:
    """The operators with plain loops, and the functions of fast kernels (beside `tosa_conv2d_s8` `_s16` is a name)."""
    page = (Path(__file__).parent.parent / "docs" / "explanation" / "firmware.md").read_text()
    loops, functions = (
        [line.split("`")[1::2] for line in part.splitlines() if line.startswith("| ") and "`" in line]
        for part in page.split("## Fast kernels")
    )
    assert sorted(name for row in loops for name in row[0].split()) == sorted([*KERNELS, *ALIASES])
    declared = {
        name for path in FILES.glob("*_s*.h") for name in re.findall(r"^void (tosa_\w+)\(", path.read_text(), re.M)
    }
    named = set()
    for row in functions:
        for name in row:
            if name.startswith("tosa_"):
                family = name.removesuffix("_s8")
            elif not name.startswith("_"):
                break
            named.add(name if name.startswith("tosa_") else family + name)
    assert named == declared
