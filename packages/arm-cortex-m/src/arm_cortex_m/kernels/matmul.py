"""MATMUL of int8, with the RESCALE and the CLAMP behind it."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains, numbers
from .conv2d import bounds, int8_tail
from .rescale import scale_of, zero_points

#: Numbers of a column, at most: eight columns are written at once, with offsets of 16 bits.
_MOST_DEPTH = 8192
_WORD, _MORE = 4, 3


def matmul(op: Op, chains: Chains) -> Call | None:
    """The call for products of matrices; None: their types or factors are others."""
    a, b = op.inputs[:2]
    tail = int8_tail(op, chains)
    known = all(tensor.is_constant for tensor in op.inputs[2:])
    if tail is None or not known or a.dtype is not DType.INT8 or b.dtype is not DType.INT8:
        return None
    batches, height, depth = a.shape
    width = b.shape[2]
    bound = depth * 255 * 255
    scale = scale_of(tail[0], bound)
    if scale is None or scale.multipliers.size > 1 or scale.double_round or bound >= 2**31 or depth > _MOST_DEPTH:
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
