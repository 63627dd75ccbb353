"""Changes of scale against exact rational arithmetic, and that nothing in them can overflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arm_tosa_core import TosaSpecification
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams, Value
from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.scaling import multiplier_and_shift
from arm_tosa_core.tosa.serializer import serialize

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16")
scales = st.floats(2.0**-20, 2.0**10)
PROPERTY = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.mark.parametrize("bits", [16, 32])
@given(scale=st.floats(2.0**-31, 2.0**12))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_multiplier_and_shift_are_nearest(bits: int, scale: float) -> None:
    (multiplier,), (shift,) = (a.tolist() for a in multiplier_and_shift([scale], bits))
    assert 2 ** (bits - 2) <= multiplier < 2 ** (bits - 1)
    assert 2 <= shift <= 62
    assert abs(Fraction(multiplier, 2**shift) - Fraction(scale)) <= Fraction(1, 2 ** (shift + 1))


@given(exponent=st.integers(-300, -31))
def test_tiny_scales_become_the_nearest_that_the_largest_shift_can_say(exponent: int) -> None:
    (multiplier,), (shift,) = (a.tolist() for a in multiplier_and_shift([2.0**exponent], 32))
    assert 2 <= shift <= 62
    assert abs(Fraction(multiplier, 2**shift) - Fraction(2) ** exponent) <= Fraction(1, 2**62)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 2.0**31])
def test_impossible_scales_are_refused(scale: float) -> None:
    with pytest.raises(Rejected, match=r"quantization scale is|too large"):
        multiplier_and_shift([scale], 32)


@given(scale=scales, zero_point=st.integers(-128, 127), real=st.floats(-1e4, 1e4))
def test_quantize_gives_the_nearest_integer(scale: float, zero_point: int, real: float) -> None:
    quant = QParams((scale,), zero_point, -128, 127)
    integer = int(quant.quantize(torch.tensor(real, dtype=torch.float64)))
    exact = Fraction(real) / Fraction(scale) + zero_point
    assert abs(integer - min(max(exact, -128), 127)) <= Fraction(1, 2) + Fraction(1, 10**9)
    back = Fraction(float(quant.dequantize(torch.tensor(integer))))
    assert back == Fraction(float(scale * (integer - zero_point)))


def test_scales_along_an_axis() -> None:
    quant = QParams((0.5, 2.0), 0, -127, 127, axis=1)
    real = torch.tensor([[1.0, 1.0], [3.0, -8.0]])
    assert quant.quantize(real).tolist() == [[2, 0], [6, -4]]
    assert quant.dequantize(quant.quantize(real)).tolist() == [[1, 0], [3, -8]]


def test_a_scalar_keeps_its_rank() -> None:
    quant = QParams((0.5,), 3, -128, 127)
    assert quant.quantize(torch.tensor(1.0)).shape == quant.dequantize(torch.tensor(5)).shape == ()


# -- arithmetic of the builder ----------------------------------------------------------------------


@st.composite
def parameters(draw: st.DrawFn, bits: int) -> QParams:
    if bits == 16:
        return QParams((draw(scales),), 0, draw(st.sampled_from([-32768, -32767])), 32767)
    return QParams((draw(scales),), draw(st.integers(-128, 127)), -128, 127)


pairs = st.sampled_from([8, 16]).flatmap(lambda n: st.tuples(parameters(n), parameters(n), parameters(n)))
OPERATIONS = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "MAXIMUM": max,
    "MINIMUM": min,
}


@given(quants=pairs, name=st.sampled_from(sorted(OPERATIONS)), seed=st.integers(0, 999))
@PROPERTY
def test_arithmetic_is_exact_to_a_quantum(quants: tuple[QParams, QParams, QParams], name: str, seed: int) -> None:
    x, y, out = quants
    dtype, integer = (torch.int8, DType.INT8) if x.qmin == -128 else (torch.int16, DType.INT16)
    graph = Graph()
    b = Builder(graph, SPEC)
    values = [Value((40,), torch.float32, graph.input(n, (40,), integer), quant=q) for n, q in (("x", x), ("y", y))]
    result = b.quantize(getattr(b, name)(*values), out, dtype)
    assert result.tensor is not None
    graph.outputs.append(result.tensor)
    _verify_no_overflow(graph, {v.tensor: v.quant for v in values})

    random = np.random.default_rng(seed)
    arrays = [random.integers(q.qmin, q.qmax + 1, 40, endpoint=False) for q in (x, y)]
    arrays = [np.concatenate([a[:-2], [q.qmin, q.qmax]]) for a, q in zip(arrays, (x, y), strict=True)]
    (ours,) = run(serialize(graph, SPEC), [a.astype(f"int{x.bits}") for a in arrays])
    # int32 holds this much of the finer operand beside the coarser one
    slack = Fraction(max(x.scalar, y.scalar)) / Fraction(out.scalar) / 2 ** (19 if x.bits == 8 else 13)
    for i, j, k in zip(*arrays, ours, strict=True):
        real = OPERATIONS[name](
            Fraction(x.scalar) * (int(i) - x.zero_point), Fraction(y.scalar) * (int(j) - y.zero_point)
        )
        exact = min(max(real / Fraction(out.scalar) + out.zero_point, out.qmin), out.qmax)
        assert abs(int(k) - exact) <= 1 + slack


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(torch.int8, -127, 127), (torch.int8, -100, 90), (torch.int16, -32767, 32767)]
)
def test_a_range_narrower_than_its_type_is_kept(dtype: torch.dtype, low: int, high: int) -> None:
    graph, given = Graph(), QParams((1.0,), 0, -32768, 32767)
    x = Value((3,), torch.float32, graph.input("x", (3,), DType.INT16), quant=given)
    result = Builder(graph, SPEC).quantize(x, QParams((0.5,), 0, low, high), dtype)
    assert result.tensor is not None
    graph.outputs.append(result.tensor)
    (ours,) = run(serialize(graph, SPEC), [np.array([-32768, 3, 32767], np.int16)])
    assert ours.tolist() == [low, 6, high]


def test_a_range_that_no_number_leaves_needs_no_clamp() -> None:
    graph, given = Graph(), QParams((0.5,), 0, -32767, 32767)
    x = Value((3,), torch.float32, graph.input("x", (3,), DType.INT16), quant=given)
    Builder(graph, SPEC).quantize(x, QParams((0.5000001,), 0, -32767, 32767), torch.int16)
    assert [op.name for op in graph.ops] == ["RESCALE"]


def _verify_no_overflow(graph: Graph, inputs: dict[Tensor | None, QParams | None]) -> None:
    """Follows the interval of every tensor and holds it against what TOSA 1.0 requires of RESCALE and int32."""
    ranges: dict[int, tuple[int, int]] = {id(t): (q.qmin, q.qmax) for t, q in inputs.items() if q}

    def interval(tensor: Tensor) -> tuple[int, int]:
        if tensor.data is not None:
            return int(tensor.data.min()), int(tensor.data.max())
        return ranges[id(tensor)]

    for op in graph.ops:
        low, high = _rescaled(op, interval(op.inputs[0])) if op.name == "RESCALE" else _combined(op, interval)
        assert -(2**31) <= low <= high < 2**31, op
        ranges[id(op.output)] = low, high


def _rescaled(op: Op, interval: tuple[int, int]) -> tuple[int, int]:
    multiplier, shift, zero_point, new_zero_point = (int(t.data.flat[0]) for t in op.inputs[1:])  # type: ignore[union-attr]
    result = []
    for end in interval:
        value = end - zero_point
        assert -(2 ** (shift - 1)) <= value < 2 ** (shift - 1), f"apply_scale_32({value}, {multiplier}, {shift})"
        result.append(((value * multiplier + 2 ** (shift - 1)) >> shift) + new_zero_point)
    bits = op.output.dtype.bits
    return max(result[0], -(2 ** (bits - 1))), min(result[1], 2 ** (bits - 1) - 1)


def _combined(op: Op, interval) -> tuple[int, int]:
    if op.name == "CLAMP":
        return op.attrs["min_val"], op.attrs["max_val"]
    ends = [OPERATIONS[op.name](i, j) for i in interval(op.inputs[0]) for j in interval(op.inputs[1])]
    return min(ends), max(ends)


def test_int16_tables_keep_neighbours_within_16_bits() -> None:
    graph = Graph()
    b = Builder(graph, SPEC)
    quant = QParams((1 / 32767,), 0, -32767, 32767)
    x = Value((3,), torch.float32, graph.input("x", (3,), DType.INT16), quant=quant)
    result = b.TABLE(x, torch.reciprocal, quant, torch.int16)
    assert result.tensor is not None
    graph.outputs.append(result.tensor)
    (table,) = (op.inputs[1].data for op in graph.ops if op.name == "TABLE")
    assert table is not None
    assert np.abs(np.diff(table.astype(np.int64))).max() <= 32767
    (ours,) = run(serialize(graph, SPEC), [np.array([-32767, 32767, 16384], np.int16)])
    assert np.abs(ours - np.array([-32767, 32767, 32767])).max() <= 1


def _product(scale: float, depth: int, seed: int) -> tuple[list[str], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A matrix product of 16 bits: the operators, its integers, and the exact ones before rounding (float64)."""
    graph = Graph()
    b = Builder(graph, SPEC)
    random, quant = np.random.default_rng(seed), QParams((1.0,), 0, -32767, 32767)
    arrays = [random.integers(-32767, 32768, shape).astype(np.int16) for shape in ((1, 8, depth), (1, depth, 8))]
    x, y = (
        Value(a.shape, torch.float32, graph.input(n, a.shape, DType.INT16), quant=quant)
        for n, a in zip("xy", arrays, strict=True)
    )
    result = b.quantize(b.MATMUL(x, y), QParams((1 / scale,), 0, -32768, 32767), torch.int16)
    assert result.tensor is not None
    graph.outputs.append(result.tensor)
    (ours,) = run(serialize(graph, SPEC), arrays)
    exact = np.matmul(*(a.astype(np.int64) for a in arrays)) * scale
    return [op.name for op in graph.ops], ours, exact.clip(-32768, 32767)


@given(scale=st.floats(2.0**-30, 2.0**-10), depth=st.integers(1, 64), seed=st.integers(0, 999))
@PROPERTY
def test_products_of_16_bits_are_the_nearest_integers(scale: float, depth: int, seed: int) -> None:
    """From INT48 RESCALE takes 15 bits of a factor, which would be off by up to a quantum more."""
    names, ours, exact = _product(scale, depth, seed)
    assert names[:3] == ["MATMUL", "RESCALE", "RESCALE"]
    assert np.abs(ours - exact).max() <= 0.501


def test_a_product_beyond_what_rescale_takes_is_one_step() -> None:
    names, ours, exact = _product(0.7, 1, 0)
    assert names[:2] == ["MATMUL", "RESCALE"]
    assert "RESCALE" not in names[2:]
    assert np.abs(ours - exact).max() <= 1.5


#: Input and output of a table: 8 bits with a zero point, 16 without.
_NARROW, _WIDE = QParams((0.04,), -17, -128, 127), QParams((5 / 32767,), 0, -32767, 32767)
_RESULTS = {torch.int8: QParams((2 / 255,), -9, -128, 127), torch.int16: QParams((2 / 32767,), 0, -32767, 32767)}


@pytest.mark.parametrize(
    "function", [torch.tanh, torch.exp, torch.sin, lambda x: 1 - x], ids=["tanh", "exp", "sin", "1-x"]
)
@pytest.mark.parametrize("dtype", [torch.int8, torch.int16])
@pytest.mark.parametrize("given", [_NARROW, _WIDE], ids=["8", "16"])
def test_tables_between_widths(
    given: QParams, dtype: torch.dtype, function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """Every integer, saturated results included: at most one quantum off."""
    graph, wanted, narrow = Graph(), _RESULTS[dtype], given.bits == 8
    kind = DType.INT8 if narrow else DType.INT16
    numbers = np.arange(given.qmin, given.qmax + 1).astype(np.int8 if narrow else np.int16)
    x = Value(numbers.shape, torch.float32, graph.input("x", numbers.shape, kind), quant=given)
    result = Builder(graph, SPEC).TABLE(x, function, wanted, dtype)
    assert result.tensor is not None
    graph.outputs.append(result.tensor)
    (ours,) = run(serialize(graph, SPEC), [numbers])
    exact = wanted.quantize(function(given.dequantize(torch.from_numpy(numbers)).double())).numpy()
    off = np.abs(ours.astype(np.int64) - exact.astype(np.int64))
    assert off.max() <= 1 if narrow or dtype is torch.int8 else (off > 1).sum() <= 16  # at the corners of saturation
