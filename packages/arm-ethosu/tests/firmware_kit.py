"""What the tests of firmware deploy, and how they compile it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from arm_cortex_m.firmware import formats
from arm_cortex_m.firmware import program as programs
from arm_cortex_m.firmware.board import find_board
from arm_cortex_m.firmware.model import Model
from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_ethosu.firmware.npu import NPU
from arm_tosa_core import lower
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.testing.harness import exported
from build_tools import require

project, model_of = partial(formats.project, npu=NPU), partial(programs.model_of, npu=NPU)
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


class Net(torch.nn.Module):
    """Two inputs, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = torch.relu(self.layer(x) + y)
        return out, out.mean((2, 3))


class Words(torch.nn.Module):
    """A table of words, which stays on the processor, before a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = torch.nn.Embedding(50, 16), torch.nn.Linear(16, 16)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.table(words)))


@cache
def program(target: str = "ethos-u55-128") -> bytes:
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 8, 8), torch.randn(1, 4, 6, 6))
    spec = EthosUCompileSpec(target)
    return lower(exported(Net().eval(), inputs, spec, "int8"), spec).buffer


def edited(pte: bytes, change: Callable[[Any], object]) -> bytes:
    """A program of which ``change`` has changed the schema's plan of ``forward``, as its author might."""
    from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary

    file = deserialize_pte_binary(pte)
    change(file.program.execution_plan[0])
    return bytes(serialize_pte_binary(file))


@cache
def model(target: str = "ethos-u55-128") -> Model:
    return model_of("net", Program(program(target)), target)


@cache
def words_program() -> Program:
    inputs, spec = (torch.arange(8)[None],), EthosUCompileSpec("ethos-u55-128")
    program = exported(Words().eval(), inputs, spec, "int8")
    return Program(lower(program, spec, remainder=FIRMWARE.remainder()).buffer)


@cache
def words() -> Model:
    return model_of("words", words_program(), "ethos-u55-128")


#: Arm's driver, and instructions of Cortex-M: compiled in test_firmware_driver.py.
NEEDS_A_CORE = ("core_driver.c", "cache_cortex_m.c")


def compile_project(models: list[Model], compiler: str, folder: Path) -> None:
    """Every C file of a firmware, with all warnings as errors; for C++, a file that includes the models' headers."""
    require(compiler)
    for path, body in project(models, find_board("host")).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(body)
    include = [f"-I{folder / name}" for name in (".", "common", "npu", "processor", "boards")]
    sources, warnings = [path for path in folder.rglob("*.c") if path.name not in NEEDS_A_CORE], WARNINGS
    if compiler.endswith("++"):
        (folder / "all.cpp").write_text("".join(f'#include "models/{model.name}.h"\n' for model in models))
        sources, warnings = [folder / "all.cpp"], WARNINGS[1:]
    done = subprocess.run(
        [compiler, *warnings, "-fsyntax-only", *include, *map(str, sources)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
