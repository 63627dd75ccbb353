"""One row per limit of Vela: a graph with one operator, and the families that refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor

B, I4, I8, I16, I32, I48 = (getattr(DType, n) for n in ("BOOL", "INT4", "INT8", "INT16", "INT32", "INT48"))
_NUMPY = {B: np.bool_, I4: np.int8, I8: np.int8, I16: np.int16, I32: np.int32, I48: np.int64}

NOBODY = ""
SMALL = "u55 u65"  # both lack what Ethos-U85 has
ALL = "u55 u65 u85"


@dataclass(frozen=True)
class In:
    """A graph input."""

    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Const:
    """A constant with one value everywhere."""

    dtype: DType
    shape: tuple[int, ...]
    value: int = 1


@dataclass(frozen=True)
class Shape:
    """A SHAPE constant."""

    values: tuple[int, ...]


Operand = In | Const | Shape


@dataclass(frozen=True)
class Case:
    """A graph of one operator, and of the RESCALE after it where the result is INT48.

    Args:
        name: what is special about it.
        refused: the families whose Vela refuses it.
        wrong: the families for which Vela compiles it, but to something else than what TOSA says.
        replaced: the families that refuse it, for which a rewrite makes something else of it.
    """

    name: str
    refused: str
    op: str
    operands: tuple[Operand, ...]
    attrs: Mapping[str, Any]
    wrong: str = NOBODY
    replaced: str = NOBODY

    def graph(self) -> Graph:
        graph = Graph()
        result = graph.append(self.op, [_tensor(graph, o, i) for i, o in enumerate(self.operands)], self.attrs).output
        if result.dtype is I48:
            result = rescale(graph, result, I16)
        graph.outputs = [result]
        return graph


def rescale(graph: Graph, x: Tensor, dtype: DType, zero_point: int = 0) -> Tensor:
    """RESCALE by 2**-16."""
    zero_points = [graph.constant(np.full(1, n, _NUMPY[d]), d) for n, d in ((0, x.dtype), (zero_point, dtype))]
    multiplier = graph.constant(np.array([1 << 14], np.int16), I16)
    shift = graph.constant(np.array([30], np.int8), I8)
    attrs = {"output_dtype": dtype, "scale32": False, "per_channel": False, "rounding_mode": "SINGLE_ROUND"}
    return graph.append("RESCALE", [x, multiplier, shift, *zero_points], attrs).output


def _tensor(graph: Graph, operand: Operand, position: int) -> Tensor:
    if isinstance(operand, In):
        return graph.input(f"x{position}", operand.shape, operand.dtype)
    if isinstance(operand, Shape):
        return graph.shape(operand.values)
    return graph.constant(np.full(operand.shape, operand.value, _NUMPY[operand.dtype]), operand.dtype)


def op(name: str, refused: str, op: str, *operands: Operand, **attrs: Any) -> Case:
    return Case(f"{op} {name}", refused, op, operands, attrs)


def wrong(families: str, case: Case) -> Case:
    """A case that Vela compiles for these families to something else than what TOSA says."""
    return replace(case, wrong=families)


def replaced(families: str, case: Case) -> Case:
    """A case that a rewrite makes something of that Vela takes."""
    return replace(case, replaced=families)


def zero(dtype: DType) -> Const:
    return Const(dtype, (1,), 0)


def _spatial(kernel, stride, dilation, pad, results):
    """Input extents that give ``results``."""
    return [
        (k - 1) * d + 1 + s * (r - 1) - pad[2 * i] - pad[2 * i + 1]
        for i, (k, s, d, r) in enumerate(zip(kernel, stride, dilation, results, strict=True))
    ]


def conv(
    name, refused, op="CONV2D", *, k=(3, 3), s=(1, 1), d=(1, 1), pad=None, out=(4, 4), n=1, c=8, oc=8, mult=1,
    x=I8, w=I8, weight=Const, bias=Const,
):  # fmt: skip
    rank = len(k)
    s, d, out = ((1,) * (rank - len(t)) + tuple(t) for t in (s, d, out))
    pad = pad or (0,) * (2 * rank)
    shape = (*k, c, mult) if op.startswith("DEPTHWISE") else (oc, *k, c)
    results = c * mult if op.startswith("DEPTHWISE") else oc
    operands = (
        In(x, (n, *_spatial(k, s, d, pad, out), c)),
        weight(w, shape),
        bias(I48 if x is I16 else I32, (results,)),
        zero(x),
        zero(w),
    )
    return Case(f"{op} {name}", refused, op, operands, {"pad": pad, "stride": s, "dilation": d})


def depthwise(name, refused, **options):
    return conv(name, refused, "DEPTHWISE_CONV2D", **options)


def conv3d(name, refused, **options):
    return conv(name, refused, "CONV3D", **{"k": (1, 3, 3), "out": (2, 4, 4)} | options)


def transpose_conv(name, refused, *, k=(3, 3), s=(1, 1), hw=(4, 4), n=1, c=8, x=I8, w=I8, weight=Const, bias=Const):
    operands = (In(x, (n, *hw, c)), weight(w, (8, *k, c)), bias(I48 if x is I16 else I32, (8,)), zero(x), zero(w))
    return Case(
        f"TRANSPOSE_CONV2D {name}", refused, "TRANSPOSE_CONV2D", operands, {"out_pad": (0, 0, 0, 0), "stride": s}
    )


def pool(name, refused, op, *, k=(4, 4), s=(1, 1), pad=(0, 0, 0, 0), out=(3, 3), n=1, c=8, x=I8):
    zeros = (zero(x), zero(x)) if op == "AVG_POOL2D" else ()
    shape = (n, *_spatial(k, s, (1, 1), pad, out), c)
    return Case(f"{op} {name}", refused, op, (In(x, shape), *zeros), {"kernel": k, "stride": s, "pad": pad})


def resize(name, refused, mode, y, x, *, at="half", hw=(4, 4), n=1, c=8, dtype=I8):
    """RESIZE ``y`` by ``x`` times; ``at``: half-pixel centres, aligned corners, or PyTorch's asymmetric positions."""
    half = at == "half"
    scale = (2 * y, 2, 2 * x, 2) if half else (y, 1, x, 1)
    offset = (1 - y, 1 - x) if half else (0, 0)
    border = (0, 0) if at == "corners" else (y - 1, x - 1)
    operands = (In(dtype, (n, *hw, c)), Shape(scale), Shape(offset), Shape(border))
    return Case(f"RESIZE {mode} {name}", refused, "RESIZE", operands, {"mode": mode})


def unary(names, refused, dtype, shape=(1, 4, 4, 8), **attrs):
    return [op(f"{dtype}", refused, name, In(dtype, shape), **attrs) for name in names.split()]


def binary(names, refused, dtype, **attrs):
    return [
        op(f"{dtype}", refused, name, In(dtype, (1, 4, 4, 8)), In(dtype, (1, 4, 4, 8)), **attrs)
        for name in names.split()
    ]


def matmul(name, refused, *, n=1, h=4, c=8, w=4, x=I8):
    return op(name, refused, "MATMUL", In(x, (n, h, c)), In(x, (n, c, w)), zero(x), zero(x))


def reduce(op_name, refused, dtype, shape, axis):
    return op(f"{dtype} {list(shape)} axis {axis}", refused, op_name, In(dtype, shape), axis=axis)


def transpose(refused, dtype, shape, perms):
    return op(f"{dtype} {list(shape)} by {list(perms)}", refused, "TRANSPOSE", In(dtype, shape), perms=perms)


_PADDED = (1, 1, 1, 1)
X = (1, 4, 4, 8)

CASES: list[Case] = [
    # Convolutions
    *(conv(f"stride {s}", NOBODY, s=(s, s)) for s in (1, 3, 4, 16)),
    conv("stride 3 with padding", NOBODY, s=(3, 3), pad=_PADDED),
    *(replaced(SMALL, conv(f"stride {s} with padding", SMALL, s=(s, s), pad=_PADDED)) for s in (4, 5)),
    replaced(SMALL, conv("stride [1, 5] with padding, kernel 7", SMALL, s=(1, 5), k=(7, 7), pad=(3, 3, 3, 3))),
    replaced(SMALL, conv("INT16, stride 4 with padding", SMALL, s=(4, 4), k=(7, 7), pad=(3, 3, 3, 3), x=I16)),
    conv("stride [4, 1] with padding, one row of results", NOBODY, s=(4, 1), k=(5, 3), pad=_PADDED, out=(1, 4)),
    *(conv(f"dilation {d}", NOBODY, d=(d, d)) for d in (2, 3, 36)),
    conv("stride 4, dilation 2", SMALL, s=(4, 4), d=(2, 2)),
    conv("stride 4, dilation 3", SMALL, s=(4, 4), d=(3, 3)),
    conv("stride 4, dilation 4", NOBODY, s=(4, 4), d=(4, 4)),
    conv("stride [4, 1], dilation [2, 3]", NOBODY, s=(4, 1), d=(2, 3)),
    conv("stride [1, 4], dilation [2, 3]", SMALL, s=(1, 4), d=(2, 3)),
    conv("stride 4, dilation 2, kernel 1", NOBODY, s=(4, 4), d=(2, 2), k=(1, 1)),
    *(conv(f"kernel {k}", NOBODY, k=k, c=1, oc=1) for k in ((65, 1), (1, 65), (65, 65), (1, 4097), (128, 1))),
    conv("padding 127 and 255", NOBODY, k=(1, 257), c=1, oc=1, pad=(0, 0, 127, 255), out=(1, 200)),
    conv("padding 127 and 255 of rows", NOBODY, k=(257, 1), c=1, oc=1, pad=(127, 255, 0, 0), out=(200, 1)),
    *(
        replaced(ALL, wrong(ALL, conv(f"padding {list(pad)}", NOBODY, k=k, c=1, oc=1, pad=pad, out=(200, 200))))
        for k, pad in (
            ((257, 1), (128, 0, 0, 0)),
            ((257, 1), (0, 256, 0, 0)),
            ((1, 257), (0, 0, 128, 0)),
            ((1, 257), (0, 0, 0, 256)),
        )
    ),
    conv("batch 3", NOBODY, n=3),
    conv("INT16", NOBODY, x=I16),
    conv("INT4 weights", NOBODY, w=I4),
    conv("weights at run time", SMALL, weight=In),
    conv("bias at run time", SMALL, bias=In),
    *(conv(f"{c} channels", ALL if c > 65536 else NOBODY, k=(1, 1), c=c, oc=1, out=(1, 1)) for c in (65536, 65537)),
    conv("65537 results", NOBODY, k=(1, 1), c=1, oc=65537, out=(1, 1)),
    conv("width 65537", NOBODY, k=(1, 1), c=1, oc=1, out=(1, 65537)),
    *(depthwise(f"stride {s}", SMALL if s > 3 else NOBODY, s=(s, s)) for s in (3, 4)),
    depthwise("stride 4, one result", NOBODY, s=(4, 4), out=(1, 1)),
    depthwise("stride [4, 1], one row of results", NOBODY, s=(4, 1), out=(1, 4)),
    depthwise("stride 4, dilation 4", NOBODY, s=(4, 4), d=(4, 4)),
    depthwise("stride 4, dilation 2", SMALL, s=(4, 4), d=(2, 2)),
    depthwise("stride 4, one channel, multiplier 8", NOBODY, s=(4, 4), c=1, mult=8),
    depthwise("stride 4, one channel, multiplier 8, padding", SMALL, s=(4, 4), c=1, mult=8, pad=_PADDED),
    depthwise("dilation 12", NOBODY, d=(12, 12)),
    depthwise("kernel 65", NOBODY, k=(65, 65), c=1),
    depthwise("multiplier 2", NOBODY, mult=2),
    *(
        depthwise(f"{c} channels, multiplier 2", SMALL if c > 8192 else NOBODY, c=c, mult=2, k=(1, 1), out=(2, 2))
        for c in (8192, 8193)
    ),
    depthwise("INT16", NOBODY, x=I16),
    depthwise("INT4 weights", NOBODY, w=I4),
    depthwise("weights at run time", SMALL, weight=In),
    depthwise("65537 channels", ALL, c=65537, k=(1, 1), out=(1, 1)),
    conv3d("kernel depth 1", NOBODY),
    replaced(SMALL, conv3d("kernel depth 2", SMALL, k=(2, 3, 3))),
    conv3d("kernel depth 1, stride 4", NOBODY, s=(1, 4, 4)),
    conv3d("kernel depth 1, stride 4, dilation 2", SMALL, s=(1, 4, 4), d=(1, 2, 2)),
    conv3d("kernel depth 1, depth stride 4", NOBODY, s=(4, 1, 1)),
    conv3d("batch 2", NOBODY, n=2),
    conv3d("INT16", NOBODY, x=I16),
    conv3d("INT16, stride 2 of height and width", NOBODY, x=I16, s=(1, 2, 2)),
    replaced(SMALL, conv3d("INT16, depth stride 2", SMALL, x=I16, s=(2, 1, 1))),
    replaced(SMALL, conv3d("INT16, depth padding", SMALL, x=I16, pad=(1, 0, 0, 0, 0, 0))),
    conv3d("depth padding", NOBODY, pad=(1, 0, 0, 0, 0, 0)),
    conv3d("weights at run time, kernel depth 1", SMALL, weight=In),
    conv3d("weights at run time, kernel depth 3", ALL, k=(3, 3, 3), weight=In),
    conv3d("bias at run time, kernel depth 3", ALL, k=(3, 3, 3), bias=In),
    *(
        replaced(few, transpose_conv(f"stride {list(s)}", few, s=s))
        for s in ((1, 1), (2, 2), (1, 2), (2, 1), (3, 3), (4, 4))
        for few in [NOBODY if s in ((1, 1), (2, 2)) else SMALL]
    ),
    transpose_conv("stride [1, 2], height 1", NOBODY, s=(1, 2), k=(1, 3), hw=(1, 4)),
    replaced(SMALL, transpose_conv("stride [1, 2], height 1, kernel height 3", SMALL, s=(1, 2), k=(3, 3), hw=(1, 4))),
    transpose_conv("stride [2, 1], width 1", NOBODY, s=(2, 1), k=(3, 1), hw=(4, 1)),
    transpose_conv("stride [1, 2], width 1", NOBODY, s=(1, 2), k=(3, 1), hw=(4, 1)),
    replaced(SMALL, transpose_conv("stride [1, 3], height 1", SMALL, s=(1, 3), k=(1, 3), hw=(1, 4))),
    transpose_conv("batch 2", NOBODY, s=(2, 2), n=2),
    replaced(SMALL, transpose_conv("INT16", SMALL, x=I16)),
    transpose_conv("INT4 weights", NOBODY, w=I4),
    transpose_conv("weights at run time", ALL, weight=In),
    transpose_conv("bias at run time", ALL, bias=In),
    transpose_conv("65537 channels", ALL, c=65537, k=(1, 1), hw=(1, 1)),
    # Pooling
    *(
        row
        for o in ("AVG_POOL2D", "MAX_POOL2D")
        for row in (
            pool("stride 4", NOBODY, o, s=(4, 4)),
            pool("stride 3 with padding", NOBODY, o, s=(3, 3), pad=_PADDED),
            pool("stride 4 with padding", SMALL, o, s=(4, 4), pad=_PADDED),
            pool("stride 4 with padding, one result", NOBODY, o, s=(4, 4), pad=_PADDED, out=(1, 1)),
            pool("kernel 257", NOBODY, o, k=(257, 257), c=1),
            pool("kernel 1x8192", NOBODY, o, k=(1, 8192), c=1),
            pool("kernel 8 with padding", NOBODY, o, k=(8, 8), pad=_PADDED),
            pool("kernel [9, 3] with padding", SMALL if o[0] == "A" else NOBODY, o, k=(9, 3), pad=(0, 0, 1, 1)),
            pool("batch 2", NOBODY, o, n=2),
            pool("INT16", NOBODY, o, x=I16),
            pool("65537 channels", ALL, o, k=(1, 1), c=65537, out=(1, 1)),
        )
    ),
    pool("padding 127 and 255", NOBODY, "MAX_POOL2D", k=(1, 257), pad=(0, 0, 127, 255), out=(1, 200)),
    pool("padding 127 and 255", SMALL, "AVG_POOL2D", k=(1, 257), pad=(0, 0, 127, 255), out=(1, 200)),
    *(
        each
        for side, pad in (("left", (0, 0, 128, 0)), ("right", (0, 0, 0, 256)))
        for each in (
            replaced(ALL, wrong(ALL, pool(f"padding {side}", NOBODY, "MAX_POOL2D", k=(1, 257), pad=pad))),
            wrong("u85", pool(f"padding {side}", SMALL, "AVG_POOL2D", k=(1, 257), pad=pad)),
        )
    ),
    *(
        wrong("u85", pool(name, SMALL, "AVG_POOL2D", n=2, **options))
        for name, options in (
            ("kernel 9 with padding, batch 2", {"k": (9, 9), "pad": _PADDED}),
            ("stride 4 with padding, batch 2", {"s": (4, 4), "pad": _PADDED}),
        )
    ),
    # Matrix product
    matmul("INT8", NOBODY),
    matmul("batch 300", NOBODY, n=300, c=300, h=2, w=2),
    matmul("INT16", SMALL, x=I16),
    matmul("65536 deep", NOBODY, c=65536, h=1, w=1),
    matmul("65537 deep", SMALL, c=65537, h=1, w=1),
    matmul("65537 wide", SMALL, c=1, h=1, w=65537),
    wrong(SMALL, matmul("65537 high", NOBODY, c=1, h=65537, w=1)),
    # Elementwise
    *binary("ADD SUB MAXIMUM MINIMUM LOGICAL_LEFT_SHIFT", NOBODY, I32),
    *binary("ARITHMETIC_RIGHT_SHIFT", NOBODY, I32, round=True),
    replaced(
        SMALL, wrong(SMALL, op("INT32 down", NOBODY, "ARITHMETIC_RIGHT_SHIFT", In(I32, X), In(I32, X), round=False))
    ),
    *binary("BITWISE_AND BITWISE_OR BITWISE_XOR INTDIV LOGICAL_RIGHT_SHIFT EQUAL GREATER GREATER_EQUAL", SMALL, I32),
    *(row for d in (I8, I16) for row in binary("BITWISE_AND LOGICAL_RIGHT_SHIFT", SMALL, d)),
    *(replaced(ALL, wrong("u85", row)) for d in (I8, I16) for row in binary("LOGICAL_LEFT_SHIFT", SMALL, d)),
    *(
        replaced(SMALL, op(f"{d} down", SMALL, "ARITHMETIC_RIGHT_SHIFT", In(d, X), In(d, X), round=False))
        for d in (I8, I16)
    ),
    *binary("ARITHMETIC_RIGHT_SHIFT", SMALL, I8, round=True),
    *binary("LOGICAL_AND LOGICAL_OR LOGICAL_XOR", SMALL, B),
    *unary("ABS CLZ IDENTITY", NOBODY, I32),
    *unary("BITWISE_NOT", SMALL, I32),
    *unary("LOGICAL_NOT IDENTITY", SMALL, B),
    op("INT32", SMALL, "SELECT", In(B, X), In(I32, X), In(I32, X)),
    *(op(f"{d}", NOBODY, "MUL", In(d, X), In(d, X), zero(I8)) for d in (I8, I16, I32)),
    op("INT32 shift 31", NOBODY, "MUL", In(I32, X), In(I32, X), Const(I8, (1,), 31)),
    op("rank 6", NOBODY, "ADD", In(I32, (2, 3, 2, 3, 2, 3)), In(I32, (2, 1, 2, 1, 2, 1))),
    op("rank 0", NOBODY, "ADD", In(I32, ()), In(I32, ())),
    op("INT8 to INT32", NOBODY, "CAST", In(I8, X), output_dtype=I32),
    *(replaced(ALL, wrong(ALL, op(f"{i} to INT8", NOBODY, "CAST", In(i, X), output_dtype=I8))) for i in (I32, I16)),
    op("to BOOL", SMALL, "CAST", In(I32, X), output_dtype=B),
    op("from BOOL", SMALL, "CAST", In(B, X), output_dtype=I32),
    op("INT8", NOBODY, "TABLE", In(I8, X), Const(I8, (256,))),
    op("INT16", NOBODY, "TABLE", In(I16, X), Const(I16, (513,))),
    op("INT16 at run time", ALL, "TABLE", In(I16, X), In(I16, (513,))),
    op(
        "of an INT48 input",
        SMALL,
        "RESCALE",
        In(I48, X),
        Const(I16, (1,), 1 << 14),
        Const(I8, (1,), 30),
        zero(I48),
        zero(I16),
        output_dtype=I16,
        scale32=False,
        per_channel=False,
        rounding_mode="SINGLE_ROUND",
    ),
    # Reductions
    *(reduce("REDUCE_SUM", NOBODY, I32, (2, 4, 5, 8), a) for a in range(4)),
    *(replaced(ALL, wrong("u85", reduce("REDUCE_SUM", SMALL, I32, (65537, n), 0))) for n in (1, 2)),
    replaced("u85", wrong("u85", reduce("REDUCE_SUM", NOBODY, I32, (2, 65537), 1))),
    *(
        reduce("REDUCE_SUM", SMALL if bad else NOBODY, I32, shape, axis)
        for shape, axis, bad in (
            ((65536, 2), 0, False),
            ((2, 3, 65537), 1, True),
            ((65537, 3, 2), 1, True),
            ((300, 300, 4, 2), 2, True),
            ((300, 300, 4), 2, False),
            ((2, 65536), 1, False),
        )
    ),
    *(
        reduce(o, SMALL if d is I32 else NOBODY, d, (2, 4, 5, 8), a)
        for o in ("REDUCE_MAX", "REDUCE_MIN")
        for d in (I8, I16, I32)
        for a in (1, 3)
    ),
    *(reduce(o, SMALL, B, (2, 4, 5, 8), 1) for o in ("REDUCE_ALL", "REDUCE_ANY")),
    reduce("REDUCE_MAX", NOBODY, I8, (300, 300, 2, 3), 2),
    *(
        reduce("ARGMAX", SMALL if bad else NOBODY, I8, shape, axis)
        for shape, axis, bad in (
            ((1, 127), 1, False),
            ((1, 128), 1, True),
            ((2, 3, 100), 2, False),
            ((2, 2, 3, 100), 3, True),
            ((1, 2, 3, 100), 3, False),
            ((4, 5, 6), 1, True),
            ((1, 1, 1, 2, 3, 10), 5, False),
            ((2, 1, 1, 2, 3, 10), 5, True),
        )
    ),
    reduce("ARGMAX", SMALL, I16, (1, 100), 1),
    # Data movement
    *(
        row
        for d in (I8, I16, I32)
        for row in (
            op(f"{d}", NOBODY, "RESHAPE", In(d, X), Shape((4, 32))),
            op(f"{d}", NOBODY, "SLICE", In(d, X), Shape((0, 1, 1, 1)), Shape((1, 2, 2, 3))),
            op(f"{d}", NOBODY, "TILE", In(d, X), Shape((2, 1, 3, 1))),
            op(f"{d}", NOBODY, "PAD", In(d, X), Shape((0, 0, 1, 1, 1, 1, 2, 3)), zero(d)),
            op(f"{d}", NOBODY, "CONCAT", In(d, X), In(d, X), axis=2),
            op(f"{d} axis 1", NOBODY, "REVERSE", In(d, X), axis=1),
            op(f"{d} last axis", SMALL, "REVERSE", In(d, X), axis=3),
            op(f"{d}", SMALL, "GATHER", In(d, (1, 10, 8)), In(I32, (1, 5))),
            op(f"{d}", SMALL, "SCATTER", In(d, (1, 10, 8)), In(I32, (1, 5)), In(d, (1, 5, 8))),
            *(transpose(NOBODY, d, (2, 3, 5, 7), p) for p in ((0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 2, 3))),
            transpose(NOBODY, d, (2, 3, 4, 5, 2, 3), (5, 4, 3, 2, 1, 0)),
            transpose(NOBODY, d, (65536, 3), (1, 0)),
            transpose(SMALL, d, (65537, 3), (1, 0)),
            transpose(SMALL, d, (70000, 3, 5), (0, 2, 1)),
            transpose(NOBODY, d, (70000, 3, 5), (0, 1, 2)),
            transpose(NOBODY, d, (1, 300, 300, 2), (0, 3, 1, 2)),
            transpose(SMALL, d, (2, 300, 300, 2), (0, 3, 1, 2)),
            transpose(SMALL, d, (300, 300, 2, 2), (0, 1, 3, 2)),
        )
    ),
    op("65535 indices", SMALL, "GATHER", In(I8, (1, 10, 3)), In(I32, (1, 65535))),
    replaced("u85", wrong("u85", op("65536 indices", SMALL, "GATHER", In(I8, (1, 10, 3)), In(I32, (1, 65536))))),
    wrong("u85", op("65536 batches", SMALL, "GATHER", In(I8, (65536, 2, 1)), In(I32, (65536, 1)))),
    op("BOOL", SMALL, "RESHAPE", In(B, X), Shape((4, 32))),
    *(replaced(SMALL, transpose(SMALL, d, (1, 3, 16, 196, 32), (0, 2, 3, 4, 1))) for d in (I8, I16)),
    *(transpose(NOBODY, d, (1, 16, 8, 64, 128), (0, 4, 1, 3, 2)) for d in (I8, I16)),
    transpose(NOBODY, I8, (1, 7, 7, 32, 100), (0, 3, 1, 4, 2)),
    transpose(SMALL, I32, (1, 7, 7, 32, 100), (0, 3, 1, 4, 2)),
    transpose(SMALL, I32, (2, 300, 64, 8), (1, 3, 2, 0)),
    transpose(NOBODY, I32, (2, 256, 64, 8), (1, 3, 2, 0)),
    *(transpose(SMALL if c > 16384 else NOBODY, I32, (1, 2, 2, c), (0, 2, 1, 3)) for c in (16384, 16385)),
    transpose(NOBODY, I32, (1, 2, 2, 32769), (0, 1, 3, 2)),
    transpose(NOBODY, I8, (1, 2, 2, 16385), (0, 2, 1, 3)),
    # Resizing
    *(
        replaced(few, resize(f"{f}x half-pixel", few, "NEAREST_NEIGHBOR", f, f))
        for f, few in ((2, NOBODY), (3, SMALL), (4, NOBODY), (8, NOBODY), (16, SMALL))
    ),
    *(
        replaced(few, resize(f"{f}x corners", few, "NEAREST_NEIGHBOR", f, f, at="corners"))
        for f, few in ((2, NOBODY), (3, SMALL), (4, NOBODY), (8, NOBODY))
    ),
    replaced(SMALL, resize("2x asymmetric", SMALL, "NEAREST_NEIGHBOR", 2, 2, at="asymmetric")),
    replaced(SMALL, wrong(SMALL, resize("2 by 4", NOBODY, "NEAREST_NEIGHBOR", 2, 4))),
    resize("2 by 4, height 1", NOBODY, "NEAREST_NEIGHBOR", 2, 4, hw=(1, 4)),
    replaced(SMALL, wrong(SMALL, resize("4 by 2, height 1", NOBODY, "NEAREST_NEIGHBOR", 4, 2, hw=(1, 4)))),
    replaced(SMALL, resize("2 by 1", SMALL, "NEAREST_NEIGHBOR", 2, 1)),
    resize("2 by 1, width 1", NOBODY, "NEAREST_NEIGHBOR", 2, 1, hw=(4, 1)),
    resize("3x of one pixel", NOBODY, "NEAREST_NEIGHBOR", 3, 3, at="asymmetric", hw=(1, 1)),
    resize("identity", NOBODY, "NEAREST_NEIGHBOR", 1, 1, at="corners", n=2),
    replaced(SMALL, resize("2x batch 2", SMALL, "NEAREST_NEIGHBOR", 2, 2, n=2)),
    resize("2x INT16", NOBODY, "NEAREST_NEIGHBOR", 2, 2, dtype=I16),
    resize("65537 channels", ALL, "NEAREST_NEIGHBOR", 2, 2, hw=(2, 2), c=65537),
    *(replaced(SMALL, resize(f"2x {at}", SMALL, "BILINEAR", 2, 2, at=at)) for at in ("half", "corners", "asymmetric")),
    *(
        replaced(SMALL, resize(f"{y} by {x}, batch 2", SMALL, "BILINEAR", y, x, at="corners", n=2))
        for y, x in ((5, 1), (1, 255))
    ),
    resize("256 by 1", SMALL, "BILINEAR", 256, 1, at="corners"),
    resize("20x batch 2", SMALL, "BILINEAR", 20, 20, at="corners", n=2, hw=(20, 20), c=2),
    replaced(SMALL, resize("2x INT16", SMALL, "BILINEAR", 2, 2, dtype=I16)),
    replaced(SMALL, resize("2 by 1 INT16 corners", SMALL, "BILINEAR", 2, 1, at="corners", dtype=I16)),
    resize("2x INT16 corners", SMALL, "BILINEAR", 2, 2, at="corners", dtype=I16),
    resize("9x INT16", SMALL, "BILINEAR", 9, 9, dtype=I16),
    resize("identity", NOBODY, "BILINEAR", 1, 1, at="corners"),
    replaced(SMALL, resize("2x of one pixel", SMALL, "BILINEAR", 2, 2, hw=(1, 1))),
]
