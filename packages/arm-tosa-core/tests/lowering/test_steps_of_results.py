"""Results that nothing quantizes, or to other steps than an operand has, are not rounded to those of the operand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantize_per_tensor
import torch.nn.functional as F

from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution

_INT8 = (-128, 127, torch.int8)
Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
MASK, ROWS = torch.arange(6) % 3 == 0, torch.tensor([1, 4])

#: Functions of two tensors whose steps are 0.02 and 0.05, the numbers of the first from -2.62 to 2.48.
FUNCTIONS: dict[str, Function] = {
    "average": lambda x, y: F.avg_pool2d(x, 2, 1),
    "average of what is inside": lambda x, y: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    "average of a signal": lambda x, y: F.avg_pool1d(x[0], 2, 1),
    "average of a volume": lambda x, y: F.avg_pool3d(x, 2, 1),
    "average of all": lambda x, y: F.adaptive_avg_pool2d(x, 1),
    "averages of unlike windows": lambda x, y: F.adaptive_avg_pool2d(x, (4, 3)),
    "average and a view": lambda x, y: F.avg_pool2d(x, 2, 1).flatten(),
    "sum by a divisor": lambda x, y: F.avg_pool2d(x, 2, divisor_override=3),
    "bilinear": lambda x, y: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "a number between two steps": lambda x, y: x.masked_fill(MASK, 0.013),
    "a number out of range": lambda x, y: x.masked_fill(MASK, 9.0),
    "no number at all": lambda x, y: x.masked_fill(MASK, -float("inf")).clamp(min=-1e4),
    "one of a tensor and a number": lambda x, y: torch.where(x > 0.1, x, 9.013),
    "one of two tensors": lambda x, y: torch.where(MASK, x, y),
    "border": lambda x, y: F.pad(x, (1, 1), value=9.013),
    "border of zeros": lambda x, y: F.pad(x, (1, 1)),
    "rows filled": lambda x, y: x.index_fill(3, ROWS, 9.013),
    "rows written": lambda x, y: x.index_copy(3, ROWS, y[..., :2]),
    "rows added": lambda x, y: torch.ops.aten.index_put(x, [None, None, ROWS], y[:, :, :2], True),
    "a number scattered": lambda x, y: x.scatter(3, torch.zeros(1, 2, 6, 1, dtype=torch.long), 9.013),
    "a part replaced": lambda x, y: x.slice_scatter(y[..., :2], 3, 1, 3),
    "joined with a constant": lambda x, y: torch.cat([x, torch.full((1, 1, 6, 6), 9.013)], 1),
    "joined": lambda x, y: torch.cat([x, y], 1),
    "greatest": lambda x, y: F.max_pool2d(x, 3, 2, 1),
    "clamped": lambda x, y: x.clamp(-0.013, 0.513),
    "clamped to more than all": lambda x, y: x.clamp(min=9.013),
    "clamped and moved": lambda x, y: x.clamp(-0.013, 0.513).flip(3),
    "clamped and joined": lambda x, y: torch.cat([x.clamp(-0.013, 0.513), y]),
    "clamped and added": lambda x, y: x.clamp(-0.013, 0.513) + y,
    "clamped and multiplied": lambda x, y: x.clamp(-0.013, 0.513) * y,
    "clamped and averaged": lambda x, y: x.clamp(-0.013, 0.513).mean(3),
    "clamped and a product of matrices": lambda x, y: x.clamp(-0.013, 0.513) @ y,
}


def real(x: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    made: torch.Tensor = torch.ops.quantized_decomposed.dequantize_per_tensor.default(x, scale, zero_point, *_INT8)
    return made


def outcome(
    function: Callable[[torch.Tensor, torch.Tensor], object], target: str
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Results on a target, each with PyTorch's."""
    draws = torch.Generator().manual_seed(0)
    inputs = tuple(torch.randint(-128, 128, (1, 2, 6, 6), dtype=torch.int8, generator=draws) for _ in range(2))
    program = torch.export.export(Apply(lambda x, y: function(real(x, 0.02, 3), real(y, 0.05, -7))), inputs)
    made, wanted = Execution(program, compile_spec_of(target).target()).run(list(inputs)), program.module()(*inputs)
    return list(zip(made, wanted if isinstance(wanted, tuple) else (wanted,), strict=True))


@pytest.mark.parametrize("target", ["tosa", "ethos-u55-128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_that_nothing_quantizes_is_real(name: str, target: str) -> None:
    ((made, wanted),) = outcome(FUNCTIONS[name], target)
    torch.testing.assert_close(made, wanted, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("target", ["tosa", "ethos-u85-256"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_of_other_steps_is_at_most_one_of_them_off(name: str, target: str) -> None:
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default

    def quantized(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        coarse, fine = (quantize(FUNCTIONS[name](x, y), step, 5, *_INT8) for step in (0.11, 0.007))
        return coarse, fine

    for made, wanted in outcome(quantized, target):
        assert (made.int() - wanted.int()).abs().max() <= 1
