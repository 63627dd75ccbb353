"""Programs of unsigned integers on Ethos-U: all 256 numbers come out, whatever operator makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, left_outside

pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")

#: Functions of a picture, with the scale of their result.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sum of two": (lambda x: x + x.flip(1), 0.04),
    "product": (lambda x: x * x.flip(1), 0.06),
    "maximum along an axis": (lambda x: x.amax(1), 0.02),
    "product of matrices": (lambda x: x @ x.transpose(2, 3), 0.2),
    "mean": (lambda x: x.mean(3), 0.02),
    "pool": (lambda x: F.max_pool2d(x, 3, stride=3), 0.02),
    "another shape": (lambda x: x.reshape(1, -1), 0.02),
    "part": (lambda x: x[:, 1:3], 0.02),
    "other axes": (lambda x: x.permute(0, 2, 3, 1), 0.02),
    "resize": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), 0.02),
}


def quantized(function: Callable[[Any], Any], scale: float) -> Callable[[Any], Any]:
    ends = (0, 255, torch.uint8)

    def program(x: Any) -> Any:
        real = torch.ops.quantized_decomposed.dequantize_per_tensor.default(x, 0.02, 128, *ends)
        return torch.ops.quantized_decomposed.quantize_per_tensor.default(function(real), scale, 128, *ends)

    return program


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_whole_range_comes_out(name: str, target: str) -> None:
    image = torch.randint(0, 256, (1, 4, 12, 12), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    program = torch.export.export(Apply(quantized(*FUNCTIONS[name])), (image,))
    run = Execution(program, EthosUCompileSpec(target).target())
    assert left_outside(run.program, run.analysis) == {}
    (made,), (wanted,) = run.run([image]), (program.module()(image),)
    assert int(wanted.max()) > 129
    assert (made.int() - wanted.int()).abs().max() <= 1
