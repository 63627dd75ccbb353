"""Operators of two operands on drawn shapes and numbers: delegated wholly, and equal to eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import BroadcastableShapes, mutually_broadcastable_shapes

from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.lowering.exported_program import is_dequantize, is_quantize
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, exported

#: Without shrinking: an example takes half a second, and is small.
PROPERTY = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
TARGET = find_target("tosa")
shapes = mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=6, max_side=3)
numbers = st.one_of(st.integers(-100, 100), st.floats(-100, 100, width=32))
BINARY: list[Callable[..., Any]] = [torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum]
WITH_NUMBER: dict[str, Callable[[torch.Tensor, float], torch.Tensor]] = {
    "x + n": lambda x, n: x + n,
    "x - n": lambda x, n: x - n,
    "n - x": lambda x, n: n - x,
    "x * n": lambda x, n: x * n,
    "where x > 0": lambda x, n: torch.where(x > 0, x, n),
    "clamp from n": lambda x, n: x.clamp(min=n),
    "clamp to n": lambda x, n: x.clamp(max=n),
    "fill": lambda x, n: x.masked_fill(x < 0, n),
}


def _verify(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...], scheme: str) -> None:
    program = exported(Apply(function).eval(), inputs, compile_spec_of("tosa"), scheme)
    execution = Execution(program, TARGET)
    operators = [n for n in program.graph.nodes if n.op == "call_function" and not (is_quantize(n) or is_dequantize(n))]
    assert all(n in execution.analysis.accepted for n in operators), execution.analysis.rejected
    for node, (ours, eager) in zip(
        (n for r in execution.regions for n in r.outputs), execution.edges(inputs), strict=True
    ):
        assert ours.shape == eager.shape
        if is_dequantize(node):
            assert (ours - eager).abs().max() <= 1.01 * float(node.args[1])  # type: ignore[arg-type]
        else:
            torch.testing.assert_close(ours, eager)


def _drawn(shape: tuple[int, ...], spread: float, seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * spread


@pytest.mark.parametrize("scheme", ["fp32", "int8", "int16"])
@given(shapes=shapes, function=st.sampled_from(BINARY), spread=st.floats(0.01, 100), seed=st.integers(0, 99))
@PROPERTY
def test_two_tensors(
    scheme: str, shapes: BroadcastableShapes, function: Callable[..., Any], spread: float, seed: int
) -> None:
    x, y = shapes.input_shapes
    _verify(function, (_drawn(x, 1.0, seed), _drawn(y, spread, seed + 1)), scheme)


@pytest.mark.parametrize("scheme", ["fp32", "int8", "int16"])
@given(shapes=shapes, seed=st.integers(0, 99))
@PROPERTY
def test_where(scheme: str, shapes: BroadcastableShapes, seed: int) -> None:
    x, y = (_drawn(s, 1.0, seed + i) for i, s in enumerate(shapes.input_shapes))
    condition = _drawn(shapes.result_shape, 1.0, seed) > 0
    _verify(torch.where, (condition, x, y), scheme)


@pytest.mark.parametrize("scheme", ["fp32", "int8", "int16"])
@given(
    shape=st.lists(st.integers(1, 3), max_size=6),
    name=st.sampled_from(sorted(WITH_NUMBER)),
    number=numbers,
    seed=st.integers(0, 99),
)
@PROPERTY
def test_a_tensor_and_a_number(scheme: str, shape: list[int], name: str, number: float, seed: int) -> None:
    function = WITH_NUMBER[name]
    _verify(lambda x: function(x, number), (_drawn(tuple(shape), 1.0, seed),), scheme)
