"""From a program to the steps of a firmware, and what it cannot run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from firmware_kit import model, model_of, words, words_program

from arm_cortex_m.firmware.library import library
from arm_ethosu import EthosUCompileSpec
from arm_ethosu.firmware import FIRMWARE
from arm_tosa_core import ExecuTorchOptions, lower
from arm_tosa_core.plugin.firmware import OnProcessor, Program
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported


def test_a_program_has_the_ports_of_its_model() -> None:
    found = model()
    assert [(port.name, port.shape, port.dtype) for port in found.inputs + found.outputs] == [
        ("input0", (1, 3, 8, 8), "int8"),
        ("input1", (1, 4, 6, 6), "int8"),
        ("output0", (1, 4, 6, 6), "int8"),
        ("output1", (1, 4), "int8"),
    ]
    (job,) = found.jobs
    assert all(port.scale and port.program_dtype == "float32" for port in found.inputs + found.outputs)
    assert all(offset + value.size <= job.scratch for value, offset in job.inputs + job.outputs)


def test_a_table_of_words_is_on_the_processor() -> None:
    found = words()
    assert [step.op.name for step in found.operators] == ["GATHER"] and len(found.jobs) == 1
    assert [(port.dtype, port.program_dtype) for port in found.inputs] == [("int32", "int64")]
    assert "#define WORDS_CONSTANTS_BYTES 800u" in library(found)["words.h"]


def test_what_firmware_cannot_run_is_named() -> None:
    class Left(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(torch.relu(x) * 3)[0]

    inputs = (torch.randn(1, 16),)
    spec = EthosUCompileSpec("ethos-u55-128")
    pte = lower(exported(Left(), inputs, spec, "int8"), spec).buffer
    with pytest.raises(UsageError, match=r"left: .*leaves to ExecuTorch: aten::sort"):
        model_of("left", Program(pte), "ethos-u55-128")


class Turned(torch.nn.Module):
    def __init__(self, arranged: bool) -> None:
        super().__init__()
        self.arranged = arranged

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned = (torch.relu(x) * 3).t()
        return turned.contiguous() if self.arranged else turned


class ChannelsLast(torch.nn.Module):
    """A result that the model itself arranges in another order."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2).to(memory_format=torch.channels_last)


def test_an_output_that_is_not_row_major_says_what_to_do() -> None:
    spec = EthosUCompileSpec("ethos-u55-128")

    def program(module: torch.nn.Module, *shape: int) -> Program:
        return Program(lower(exported(module, (torch.randn(*shape),), spec, "int8"), spec).buffer)

    with pytest.raises(UsageError, match=r"output0 is not row-major; end the model with \.contiguous\(\)"):
        model_of("last", program(ChannelsLast(), 1, 3, 4, 5), "ethos-u55-128")
    for arranged in (False, True):
        assert model_of("turned", program(Turned(arranged), 4, 6), "ethos-u55-128").outputs[0].shape == (6, 4)


def test_weights_beside_the_program_are_refused() -> None:
    """A method that shares weights with others is taken: it brings the block that they share."""
    from arm_tosa_core import lower

    spec, inputs = EthosUCompileSpec("ethos-u55-128"), (torch.randn(1, 16),)
    program = exported(torch.nn.Linear(16, 16), inputs, spec, "int8")
    outside = lower(program, spec, executorch=ExecuTorchOptions(external_constants="weights"))
    with pytest.raises(UsageError, match="compile the program without external constants"):
        model_of("outside", Program(outside.buffer), "ethos-u55-128")
    shared = lower({"forward": program, "again": program}, spec)
    (job,) = model_of("shared", Program(shared.buffer), "ethos-u55-128").jobs
    (alone,) = model_of("alone", Program(lower(program, spec).buffer), "ethos-u55-128").jobs
    assert 0 < len(job.weights) <= len(alone.weights)


class Constant(torch.nn.Module):
    """Returns a number of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(4, dtype=torch.int32))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return torch.relu(x) * 3, self.table


def test_a_constant_output_is_named() -> None:
    spec = EthosUCompileSpec("ethos-u55-128")
    pte = lower(exported(Constant().eval(), (torch.randn(1, 16),), spec, "int8"), spec).buffer
    with pytest.raises(UsageError, match=r"net: output 1 is the same in every run, a constant"):
        model_of("net", Program(pte), "ethos-u55-128")


def test_an_output_may_be_an_input() -> None:
    class Same(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.relu(x) * 3, y

    spec = EthosUCompileSpec("ethos-u55-128")
    inputs = torch.randn(1, 16), torch.arange(4, dtype=torch.int32)
    found = model_of("net", Program(lower(exported(Same(), inputs, spec, "int8"), spec).buffer), "ethos-u55-128")
    assert "(void)memcpy(outputs->output1, inputs->input1, 16u);" in library(found)["net.c"]


class Crossing(torch.nn.Module):
    """A value that layers on the NPU read, and a matrix product of 16 bits on the processor through a view."""

    def __init__(self, views: int) -> None:
        super().__init__()
        self.views = views
        self.a, self.b, self.c = (torch.nn.Linear(16, 16) for _ in range(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q = self.a(x)
        k = self.b(q) if self.views == 1 else q
        return q.view(1, 8, 4, 4) @ k.view(1, 8, 4, 4), self.c(q)


@pytest.mark.parametrize("views", [1, 2])
def test_a_value_crosses_as_integers_through_a_view(views: int) -> None:
    spec = EthosUCompileSpec("ethos-u55-128")
    program = exported(Crossing(views).eval(), (torch.randn(1, 8, 16),), spec, "int16x8")
    pte = lower(program, spec, remainder=FIRMWARE.remainder()).buffer
    found = model_of("net", Program(pte), "ethos-u55-128")
    assert "MATMUL" in [op.name for step in found.operators for op in step.ops] and found.jobs


def test_the_processor_takes_convolutions_and_pools() -> None:
    pooled = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
    (spec,) = FIRMWARE.remainder()
    report = lower(exported(pooled, (torch.randn(1, 3, 8, 8),), spec, "int8"), spec).report
    assert [row.node for row in report.delegated] == ["conv2d", "relu", "max_pool2d"]
    assert not report.rejected


def test_what_is_left_to_the_processor_is_counted(tmp_path: Path) -> None:
    """A row of the table for each of 8 words, and 16-bit matrices of 8 x 8 x (4 x 4) elements, 4 products each."""
    done = FIRMWARE.deploy({"words": words_program()}, "ethos-u55-128", "host", tmp_path)
    assert done.processor == [OnProcessor("words", "GATHER", 1, 8 * 16)]
    spec = EthosUCompileSpec("ethos-u55-128")
    program = exported(Crossing(2).eval(), (torch.randn(1, 8, 16),), spec, "int16x8")
    pte = Program(lower(program, spec, remainder=FIRMWARE.remainder()).buffer)
    done = FIRMWARE.deploy({"crossing": pte}, "ethos-u55-128", "host", tmp_path / "other")
    assert done.processor == [OnProcessor("crossing", "MATMUL + RESCALE + RESCALE", 1, 8 * 4 * 4 * 4)]
