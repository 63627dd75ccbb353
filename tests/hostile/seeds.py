"""A good file of each format, in a folder, to be spoiled."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_ethosu.vela_ini import locate
from arm_tosa_core import ExecuTorchOptions, lower
from arm_tosa_core.accuracy.recipe import Recipe
from arm_tosa_core.exir.figures import Figures
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.flow import cache
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.support.cache_folder import cache_folder
from arm_tosa_core.sweep.journal import Journal
from arm_tosa_core.sweep.limits import Limits
from arm_tosa_core.sweep.point import Accuracy, Evaluation, Failure, Point
from arm_tosa_core.sweep.quantized import Quantized, _store
from arm_tosa_core.sweep.space import Space
from arm_tosa_core.sweep.study_folder import JOURNAL
from arm_tosa_core.testing.harness import exported
from onnx_files import write_onnx
from tflite_files import image_network, tflite

SCHEME = {"scheme": "int8", "modules": {"conv": "int16x8"}}
SPACE = '[targets."ethos-u55-128"]\nmemory_mode = ["Shared_Sram", "default"]\n'


BOARD = 'description = "ACME"\nshares = ["cortex-m"]\nrun = ["acme-flash", "{firmware}"]\nnpu = "ethos-u55"\n'
CHIP = """title = "ACME"
target = "ethos-u55-128"
[options]
sram_size = "640K"
[facts]
macs = [128, "acme"]
[sources]
acme = "https://acme.example/"
"""

#: A study of a sweep.
STUDIED, ORIGIN, POINT = Space({"tosa-int": {}}, ["int8", "int16x8"], {}), "model", Point("tosa-int", "int8")


class Net(torch.nn.Module):
    """A convolution, and what the CPU does after it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x)).mean((2, 3))


def make(folder: Path) -> None:
    """Writes them; the cache of results must be one of its own."""
    torch.manual_seed(0)
    x = torch.randn(1, 2, 6, 6)
    ethosu = EthosUCompileSpec("ethos-u55-128")
    program = exported(Net().eval(), (x,), ethosu, "int8")
    npu = lower(program, ethosu, cache=True)
    (folder / "npu.pte").write_bytes(npu.buffer)
    (folder / "npu.vela").write_bytes(delegates(npu.buffer)[0].payload)
    with tempfile.TemporaryDirectory() as left:
        lower(program, EthosUCompileSpec("ethos-u55-128").dump_intermediate_artifacts_to(left))
        (folder / "npu.tosa").write_bytes(Path(left, "delegate_0", "ethos-u55-128.tosa").read_bytes())
    apart = lower(
        exported(Net().eval(), (x,), ethosu, "int8"), ethosu, executorch=ExecuTorchOptions(external_constants="weights")
    )
    (folder / "apart.pte").write_bytes(apart.buffer)
    (folder / "weights.ptd").write_bytes(apart.data_files["weights.ptd"])
    program = torch.export.export(
        Net().eval(), (torch.cat([x, x]),), dynamic_shapes=({0: torch.export.Dim("batch", max=4)},)
    )
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    (folder / "net.pt2").write_bytes(buffer.getvalue())
    still = torch.export.export(Net().eval(), (x,))
    (folder / "tosa.pte").write_bytes(lower(still, "tosa").buffer)
    (folder / "net.tosa").write_bytes(delegates((folder / "tosa.pte").read_bytes())[0].payload)
    gpu = lower(still, "vgf").buffer
    (folder / "gpu.pte").write_bytes(gpu)
    (folder / "net.vgf").write_bytes(delegates(gpu)[0].payload)
    (folder / "net.tflite").write_bytes(tflite(image_network()))
    write_onnx(folder / "net.onnx")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "x8.npy", np.zeros((1, 2, 6, 6), np.int8))
    np.savez(folder / "data.npz", x=np.concatenate([x.numpy()] * 2))
    (folder / "vela.ini").write_bytes(locate("Arm/vela.ini").read_bytes())
    (folder / "scheme.json").write_text(json.dumps(SCHEME))
    (folder / "space.toml").write_text(SPACE)
    (folder / "recipe.toml").write_text(Recipe(nodes={"add": "int16x8"}, target="tosa").to_toml("made"))
    for name, text in (("board/board.toml", BOARD), ("chips/acme.toml", CHIP)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    FIRMWARE.deploy({"net": Program(npu.buffer)}, "ethos-u55-128", "host", folder / "fw")
    (entry,) = cache_folder().glob(f"*{cache._SUFFIX}")
    (folder / "entry.lowered").write_bytes(entry.read_bytes())
    (folder / "entry.name").write_text(entry.name)
    _store(folder / "kept.pt2", Quantized(still, Accuracy(0.5, 0.75, 30.0), ""))
    _study(folder / "study")
    words = Tokenizer(WordLevel({"good": 0, "words": 1, "?": 2}, unk_token="?"))
    words.pre_tokenizer = Whitespace()
    words.save(str(folder / "tokenizer.json"))


def _study(folder: Path) -> None:
    """Lines have no checksum, as those of other programs."""
    journal = Journal(folder, STUDIED, ORIGIN, Limits(), judged=True)
    figures = Figures(3, 1, 1, 1e6, 5e8, 1024, 0, 2048, 4096, 0.5, constants_bytes=512, constants_in="flash")
    for number, outcome in enumerate((Evaluation(figures, Accuracy(0.5, 0.75), "p", 1.0), Failure("no rule"))):
        journal.end(journal.begin(Point("tosa-int", STUDIED.schemes[number])), str(number), outcome)
    journal.close()
    lines = [json.loads(line) for line in (folder / JOURNAL).read_text().splitlines()]
    (folder / JOURNAL).write_text("".join(json.dumps(line | {"sha256": None}) + "\n" for line in lines))
