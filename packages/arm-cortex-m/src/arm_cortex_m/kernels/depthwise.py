"""DEPTHWISE_CONV2D of int8, or of int16 and weights of int8, with the RESCALE and the CLAMP behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains, numbers
from .conv2d import bounds, conv2d_of, conv2d_s16, int8_tail, is_int8, tail_s16, window
from .rescale import fields_of, folded

_Array = np.ndarray[Any, Any]
_BLOCK = 16
#: The order of a block's channels in four vectors of 32 bits.
_LANES = [0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15]
_ADDRESS, _MORE = 8, 32
#: Results by the multiplier, at most: the vectors' division of 16 bits is exact.
_MOST = 2**16 - 1


def depthwise_conv2d(op: Op, chains: Chains) -> Call | None:
    """The call for a depthwise convolution; None: its types or factors are others.

    One of a single channel is a convolution.
    """
    source, weights = op.inputs[:2]
    if source.dtype is DType.INT16:
        return None if weights.data is None else _depthwise_s16(op, chains, weights.data)
    tail = int8_tail(op, chains)
    if tail is None or weights.data is None or not is_int8(op):
        return None
    height, width, channels, multiplier = weights.shape
    if channels == 1:
        return conv2d_of(op, tail, weights.data.transpose(3, 0, 1, 2))
    results = channels * multiplier
    rows = weights.data.reshape(height * width, results).T
    zero_point = int(numbers(op.inputs[3])[0])
    rescale = fields_of(tail[0], bounds(tail), folded(op.inputs[2], rows, zero_point), rows)
    if rescale is None:
        return None
    out_width = op.output.shape[2]
    steps = window(op, height, width)
    fits = _BLOCK % results == 0 and steps["window.stride_x"] == 1
    places = _BLOCK // results if fits and out_width >= _BLOCK // results else 1
    for name in ("biases", "multipliers", "shifts"):
        rescale[f"rescale.{name}"] = _blocks(np.asarray(rescale[f"rescale.{name}"]), places)[:, _LANES].reshape(-1)
    ring = ((height - 1) * steps["window.dilation_y"] + 1) * (
        (out_width - 1) * steps["window.stride_x"] + (width - 1) * steps["window.dilation_x"] + 1
    )
    return Call(
        ops=(op, *tail),
        function="tosa_depthwise_conv2d_s8",
        source="tosa_depthwise_conv2d_s8.c",
        fields={
            **steps,
            "multiplier": multiplier,
            "zero_point": zero_point,
            "places": places,
            "paired": _paired(rows),
            "weights": np.concatenate([_blocks(tap, places) for tap in rows.T], axis=1).reshape(-1),
            **rescale,
        },
        inputs=(source,),
        scratch=_ADDRESS * height * width + 2 * ring * (results + -results % 4) + _MORE,
    )


def _depthwise_s16(op: Op, chains: Chains, weights: _Array) -> Call | None:
    height, width, channels, multiplier = weights.shape
    if channels == 1:
        return conv2d_s16(op, chains, weights.transpose(3, 0, 1, 2))
    rows = weights.reshape(height * width, channels * multiplier).T
    found = tail_s16(op, chains, rows)
    if found is None or channels * multiplier**2 > _MOST:
        return None
    ops, rescale = found
    return Call(
        ops=(op, *ops),
        function="tosa_depthwise_conv2d_s16",
        source="tosa_depthwise_conv2d_s16.c",
        fields={
            **window(op, height, width),
            "multiplier": multiplier,
            "weights": weights.reshape(-1).astype(np.int8),
            **rescale,
        },
        inputs=(op.inputs[0],),
    )


def _blocks(of_channels: _Array, places: int) -> _Array:
    """Rows of 16 numbers, of which the last ones may be 0."""
    repeated = np.tile(of_channels, places)
    missing = -repeated.size % _BLOCK
    return np.append(repeated, np.zeros(missing, repeated.dtype)).reshape(-1, _BLOCK)


def _paired(rows: _Array) -> int:
    """The number of the first weights of which two neighbours' products, of any numbers, have a sum of 16 bits."""
    together = np.abs(rows.astype(np.int64))
    count = 0
    while count + 2 <= rows.shape[1] and int(together[:, count : count + 2].sum(1).max()) <= 255:
        count += 2
    return count
