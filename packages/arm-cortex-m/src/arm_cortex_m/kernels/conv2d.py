"""CONV2D of int8, with the RESCALE and the CLAMP behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains, numbers
from .rescale import fields_of, folded, to_int8, zero_points

_Array = np.ndarray[Any, Any]
#: Rows that ``tosa_conv2d_s8.c`` gathers at once, and what the widened ones of the DSP variant have more.
_ROWS, _MORE = 9, 3


def conv2d(op: Op, chains: Chains) -> Call | None:
    """The call for a convolution; None: its types or factors are others."""
    weights = op.inputs[1].data
    tail = int8_tail(op, chains)
    return None if tail is None or weights is None or not is_int8(op) else conv2d_of(op, tail, weights)


def conv2d_of(op: Op, tail: tuple[Op, ...], weights: _Array) -> Call | None:
    """The call for an operator with the attributes of a CONV2D, and those behind it.

    Args:
        weights: by output channel, height, width and channel.
    """
    source = op.inputs[0]
    rows = weights.reshape(len(weights), -1)
    zero_point = int(numbers(op.inputs[3])[0])
    rescale = fields_of(tail[0], bounds(tail), folded(op.inputs[2], rows, zero_point), rows)
    if rescale is None:
        return None
    batches, height, width, channels = source.shape
    _, out_height, out_width, out_channels = op.output.shape
    return Call(
        ops=(op, *tail),
        function="tosa_conv2d_s8",
        source="tosa_conv2d_s8.c",
        fields={
            "batches": batches,
            "height": height,
            "width": width,
            "channels": channels,
            "out_height": out_height,
            "out_width": out_width,
            "out_channels": out_channels,
            **window(op, *weights.shape[1:3]),
            "zero_point": zero_point,
            "weights": np.append(rows, np.zeros(_MORE, np.int8)).astype(np.int8),
            **rescale,
        },
        inputs=(source,),
        scratch=_ROWS * (rows.shape[1] + _MORE),
    )


def window(op: Op, height: int, width: int) -> dict[str, int]:
    """The kernel's size and steps."""
    return {
        "kernel_height": height,
        "kernel_width": width,
        "stride_y": op.attrs["stride"][0],
        "stride_x": op.attrs["stride"][1],
        "pad_top": op.attrs["pad"][0],
        "pad_left": op.attrs["pad"][2],
        "dilation_y": op.attrs["dilation"][0],
        "dilation_x": op.attrs["dilation"][1],
    }


def is_int8(op: Op) -> bool:
    """Whether a convolution is of int8, with biases that are known and weights around 0."""
    types = op.inputs[0].dtype is DType.INT8 and op.inputs[1].dtype is DType.INT8
    known = all(tensor.is_constant for tensor in op.inputs[1:])
    return types and known and int(numbers(op.inputs[4])[0]) == 0


def int8_tail(op: Op, chains: Chains) -> tuple[Op, ...] | None:
    """The RESCALE to int8 behind an operator, and the CLAMP behind that; None: there is no such RESCALE."""
    rescale = chains.next(op, "RESCALE")
    if rescale is None or not to_int8(rescale) or not all(each.is_constant for each in rescale.inputs[1:]):
        return None
    if zero_points(rescale)[0] != 0:
        return None
    clamp = chains.next(rescale, "CLAMP")
    return (rescale,) if clamp is None else (rescale, clamp)


def bounds(tail: tuple[Op, ...]) -> tuple[int, int]:
    """The least and the greatest number that such operators make."""
    if len(tail) == 1:
        return -128, 127
    return int(tail[1].attrs["min_val"]), int(tail[1].attrs["max_val"])
