"""Rounding of 16-bit values to whole numbers without float, at every integer that they can be."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16")
ALL = torch.arange(-32768, 32768)


def _whole(mode: str, scale: float, divisor: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, int]:
    """What TOSA makes of every integer, what eager PyTorch does, and how many operators it takes."""

    def exact(real: torch.Tensor) -> torch.Tensor:
        return getattr(torch, mode)(real / divisor)  # type: ignore[no-any-return]

    builder = Builder(Graph(), SPEC)
    x = builder.value(builder.graph.input("x", (1, 65536), DType.INT16), torch.float32)
    x = x.replace(quant=QParams((scale,), 0, -32768, 32767))
    result = builder.round_to_integer(x, mode, exact, divisor)
    assert result.tensor is not None and result.quant is not None
    builder.graph.outputs = [result.tensor]
    (made,) = run(serialize(builder.graph, SPEC), [ALL.numpy().astype(np.int16).reshape(1, -1)])
    assert (int(made.min()), int(made.max())) == (result.quant.qmin, result.quant.qmax)
    return (
        torch.from_numpy(made.reshape(-1).astype(np.float64)),
        exact(ALL.float() * scale).double(),
        len(builder.graph.ops),
    )


@pytest.mark.parametrize("mode", ["floor", "ceil", "trunc", "round"])
@pytest.mark.parametrize("scale", [2**-10, 0.1, 0.01, 9 / 32768, 3.7e-5, 1 / 300, 0.0313])
def test_every_integer_is_as_in_eager(mode: str, scale: float) -> None:
    made, eager, _ = _whole(mode, scale)
    assert torch.equal(made, eager)


@pytest.mark.parametrize("mode", ["floor", "ceil", "trunc", "round"])
@pytest.mark.parametrize("scale", [0.1933109909, 0.6048823595])
def test_of_large_scales_some_beside_a_jump_are_off(mode: str, scale: float) -> None:
    made, eager, _ = _whole(mode, scale)
    off = made != eager
    assert off.sum() <= 16
    assert (made - eager).abs().max() <= 1
    real = ALL.double()[off] * scale
    assert (real * 2 - (real * 2).round()).abs().max() <= 2**-9  # beside a whole number, or a half


@pytest.mark.parametrize("divisor", [0.75, -0.75, 3.0])
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_quotients(mode: str, divisor: float) -> None:
    made, eager, _ = _whole(mode, 9 / 32768, divisor)
    assert torch.equal(made, eager)


def test_only_round_needs_to_know_odd_from_even() -> None:
    operators = {mode: _whole(mode, 0.01)[2] for mode in ("floor", "ceil", "trunc", "round")}
    assert operators == {"floor": 3, "ceil": 3, "trunc": 8, "round": 10}
