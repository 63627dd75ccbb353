"""MATMUL of int8 or int16, with the RESCALEs and the CLAMP behind it."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains, numbers
from .conv2d import bounds, int8_tail, narrowing
from .rescale import one_scale, zero_points

#: Numbers of a column, at most: eight columns are written at once, with offsets of 16 bits.
_MOST_DEPTH = 8192
_WORD, _MORE = 4, 3


def matmul(op: Op, chains: Chains) -> Call | None:
    """The call for products of matrices; None: their types or factors are others."""
    a, b = op.inputs[:2]
    if a.dtype is DType.INT16:
        return _matmul_s16(op, chains)
    tail = int8_tail(op, chains)
    known = all(tensor.is_constant for tensor in op.inputs[2:])
    if tail is None or not known or a.dtype is not DType.INT8 or b.dtype is not DType.INT8:
        return None
    batches, height, depth = a.shape
    width = b.shape[2]
    bound = depth * 255 * 255
    scale = one_scale(tail[0], bound)
    if scale is None or bound >= 2**31 or depth > _MOST_DEPTH:
        return None
    least, most = bounds(tail)
    return Call(
        ops=(op, *tail),
        function="tosa_matmul_s8",
        source="tosa_matmul_s8.c",
        fields={
            "batches": batches,
            "height": height,
            "depth": depth,
            "width": width,
            "a_zero_point": int(numbers(op.inputs[2])[0]),
            "b_zero_point": int(numbers(op.inputs[3])[0]),
            "left": scale.left,
            "multiplier": int(scale.multipliers[0]),
            "shift": int(scale.shifts[0]),
            "zero_point": zero_points(tail[0])[1],
            "least": least,
            "most": most,
        },
        inputs=(a, b),
        scratch=_WORD * width + depth * width + _MORE,
    )


def _matmul_s16(op: Op, chains: Chains) -> Call | None:
    a, b = op.inputs[:2]
    first = chains.next(op, "RESCALE")
    tail = int8_tail(first, chains, DType.INT16) if first is not None else None
    narrow = narrowing(first) if first is not None else None
    known = all(tensor.is_constant and not numbers(tensor)[0] for tensor in op.inputs[2:])
    if first is None or tail is None or narrow is None or not known or b.dtype is not DType.INT16:
        return None
    batches, height, depth = a.shape
    width = b.shape[2]
    bound = (depth * 2**30 >> narrow) + 1
    scale = one_scale(tail[0], bound)
    if scale is None or bound >= 2**31 or depth > _MOST_DEPTH:
        return None
    least, most = bounds(tail)
    return Call(
        ops=(op, first, *tail),
        function="tosa_matmul_s16",
        source="tosa_matmul_s16.c",
        fields={
            "batches": batches,
            "height": height,
            "depth": depth,
            "width": width,
            "narrow": narrow,
            **scale.fields("scale"),
            "zero_point": zero_points(tail[0])[1],
            "least": least,
            "most": most,
        },
        inputs=(a, b),
        scratch=2 * depth * width,
    )
