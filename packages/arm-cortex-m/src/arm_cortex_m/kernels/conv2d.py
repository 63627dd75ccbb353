"""CONV2D of int8 and weights of 8 or 4 bits, or of int16 and weights of int8, with the RESCALE and CLAMP behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains, numbers
from .rescale import fields_of, folded, is_signed, zero_points

_Array = np.ndarray[Any, Any]
#: Rows that ``tosa_conv2d_s8.c`` gathers at once, and what the widened ones of the DSP variant have more.
ROWS, MORE = 9, 3
#: Rows of ``tosa_conv2d_s16.c``.
ROWS_S16 = 5
#: Weights of 4 bits in a block of ``tosa_conv2d_s4.c``, and those that it unpacks at once: of four channels at least.
_BLOCK, _UNPACKED, _CHANNELS = 32, 4096, 4


def conv2d(op: Op, chains: Chains) -> Call | None:
    """The call for a convolution; None: its types or factors are others."""
    weights = op.inputs[1].data
    if op.inputs[0].dtype is DType.INT16:
        return None if weights is None else conv2d_s16(op, chains, weights)
    if weights is None or not is_int8(op):
        return None
    tail = int8_tail(op, chains)
    if tail is None:
        return _conv2d_s8_s16(op, chains, weights)
    call = conv2d_of(op, tail, weights)
    return _packed(call, len(weights)) if call is not None and op.inputs[1].dtype is DType.INT4 else call


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
    return Call(
        ops=(op, *tail),
        function="tosa_conv2d_s8",
        source="tosa_conv2d_s8.c",
        fields={
            **window(op, *weights.shape[1:3]),
            "out_channels": len(rows),
            "out_stride": len(rows),
            "zero_point": zero_point,
            "weights": np.append(rows, np.zeros(MORE, np.int8)).astype(np.int8),
            **rescale,
        },
        inputs=(source,),
        scratch=ROWS * (rows.shape[1] + MORE),
    )


def _packed(call: Call, channels: int) -> Call:
    """The same call with weights of 4 bits in half the bytes."""
    rows = np.asarray(call.fields["weights"])[:-MORE].reshape(channels, -1)
    depth = rows.shape[1]
    group = min(channels, max(_CHANNELS, _UNPACKED // depth // _CHANNELS * _CHANNELS))
    fields = {
        **call.fields,
        "weights": np.concatenate([_pairs(rows[at : at + group]) for at in range(0, channels, group)]),
    }
    return replace(
        call,
        function="tosa_conv2d_s4",
        source="tosa_conv2d_s4.c",
        fields={f"conv.{name}": value for name, value in fields.items()} | {"group": group},
        scratch=-(-group * depth // _BLOCK) * _BLOCK + call.scratch,
    )


def _pairs(rows: _Array) -> _Array:
    """Numbers of 4 bits in bytes: of each block the first half in the low bits, the other in the high bits."""
    halves = np.append(rows, np.zeros(-rows.size % _BLOCK, np.int8)).reshape(-1, 2, _BLOCK // 2)
    pairs: _Array = halves[:, 0] & 15 | halves[:, 1] << 4
    return pairs.astype(np.int8).reshape(-1)


def conv2d_s16(op: Op, chains: Chains, weights: _Array) -> Call | None:
    """The same of an operator whose numbers have 16 bits.

    Args:
        weights: by output channel, height, width and channel.
    """
    rows = weights.reshape(len(weights), -1)
    found = tail_s16(op, chains, rows)
    if found is None:
        return None
    ops, rescale = found
    return Call(
        ops=(op, *ops),
        function="tosa_conv2d_s16",
        source="tosa_conv2d_s16.c",
        fields={
            **window(op, *weights.shape[1:3]),
            "out_channels": len(rows),
            "weights": np.append(rows, np.zeros(MORE, np.int8)).astype(np.int8),
            **rescale,
        },
        inputs=(op.inputs[0],),
        scratch=ROWS_S16 * 2 * (rows.shape[1] + MORE),
    )


def _conv2d_s8_s16(op: Op, chains: Chains, weights: _Array) -> Call | None:
    """The same of int8 with results of int16."""
    tail = int8_tail(op, chains, DType.INT16)
    if tail is None:
        return None
    rows = weights.reshape(len(weights), -1)
    biases = np.broadcast_to(numbers(op.inputs[2]), len(rows))
    rescale = fields_of(tail[0], bounds(tail), biases, rows, greatest=255)
    if rescale is None:
        return None
    fields: dict[str, int | _Array] = {
        **window(op, *weights.shape[1:3]),
        "out_channels": len(rows),
        "weights": np.append(rows, np.zeros(MORE, np.int8)).astype(np.int8),
        **rescale,
    }
    return Call(
        ops=(op, *tail),
        function="tosa_conv2d_s8_s16",
        source="tosa_conv2d_s16.c",
        fields={f"conv.{name}": value for name, value in fields.items()}
        | {"zero_point": int(numbers(op.inputs[3])[0])},
        inputs=(op.inputs[0],),
        scratch=ROWS_S16 * 2 * (rows.shape[1] + MORE),
    )


def tail_s16(op: Op, chains: Chains, rows: _Array) -> tuple[tuple[Op, ...], dict[str, int | _Array]] | None:
    """The RESCALEs behind a convolution of int16, and the fields of the rescaling; None: they are others.

    The first makes 32 bits of the 48 of the sums and changes nothing, as the sums need no more.

    Args:
        rows: the weights, a row for each output channel.
    """
    first = chains.next(op, "RESCALE")
    known = all(tensor.is_constant for tensor in op.inputs[1:])
    if first is None or not known or op.inputs[1].dtype is not DType.INT8 or narrowing(first) != 0:
        return None
    tail = int8_tail(first, chains, DType.INT16)
    if tail is None or numbers(op.inputs[3])[0] or numbers(op.inputs[4])[0]:
        return None
    biases = np.broadcast_to(numbers(op.inputs[2]), len(rows))
    rescale = fields_of(tail[0], bounds(tail), biases, rows, greatest=2**15)
    return None if rescale is None else ((first, *tail), rescale)


def narrowing(rescale: Op) -> int | None:
    """The low bits that a RESCALE of int48 to int32 takes off, rounded; None: it does something else."""
    if not all(tensor.is_constant for tensor in rescale.inputs[1:]) or rescale.attrs["scale32"]:
        return None
    types = rescale.inputs[0].dtype is DType.INT48 and rescale.output.dtype is DType.INT32 and is_signed(rescale)
    multipliers, shifts = numbers(rescale.inputs[1]).tolist(), numbers(rescale.inputs[2]).tolist()
    bits = {
        shift - multiplier.bit_length() + 1 if multiplier > 0 and multiplier.bit_count() == 1 else -1
        for multiplier, shift in zip(multipliers, shifts, strict=True)
    }
    exact = types and zero_points(rescale) == (0, 0) and len(bits) == 1 and min(bits) >= 0
    return bits.pop() if exact else None


def window(op: Op, height: int, width: int) -> dict[str, int]:
    """The fields of a ``struct tosa_window``: the input's, the output's and the kernel's sizes, and its steps.

    Args:
        height, width: of the kernel.
    """
    batches, in_height, in_width, channels = op.inputs[0].shape
    stride, dilation, pad = op.attrs["stride"], op.attrs.get("dilation", (1, 1)), op.attrs.get("pad", (0, 0, 0, 0))
    fields = {
        "batches": batches,
        "height": in_height,
        "width": in_width,
        "channels": channels,
        "out_height": op.output.shape[1],
        "out_width": op.output.shape[2],
        "kernel_height": height,
        "kernel_width": width,
        "stride_y": stride[0],
        "stride_x": stride[1],
        "pad_top": pad[0],
        "pad_left": pad[2],
        "dilation_y": dilation[0],
        "dilation_x": dilation[1],
    }
    return {f"window.{name}": value for name, value in fields.items()}


def is_int8(op: Op) -> bool:
    """Whether a convolution is of int8 and weights of 8 or 4 bits around 0, with biases that are known."""
    types = op.inputs[0].dtype is DType.INT8 and op.inputs[1].dtype in (DType.INT8, DType.INT4)
    known = all(tensor.is_constant for tensor in op.inputs[1:])
    return types and known and int(numbers(op.inputs[4])[0]) == 0


def int8_tail(op: Op, chains: Chains, dtype: DType = DType.INT8) -> tuple[Op, ...] | None:
    """The RESCALE to int8, or to another type, behind an operator, and the CLAMP behind that; None: there is none."""
    rescale = chains.next(op, "RESCALE")
    if rescale is None or rescale.output.dtype is not dtype or not is_signed(rescale):
        return None
    if not all(each.is_constant for each in rescale.inputs[1:]):
        return None
    if zero_points(rescale)[0] != 0:
        return None
    clamp = chains.next(rescale, "CLAMP")
    return (rescale,) if clamp is None else (rescale, clamp)


def bounds(tail: tuple[Op, ...]) -> tuple[int, int]:
    """The least and the greatest number that such operators make."""
    if len(tail) == 1:
        bits = tail[0].output.dtype.bits
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return int(tail[1].attrs["min_val"]), int(tail[1].attrs["max_val"])
