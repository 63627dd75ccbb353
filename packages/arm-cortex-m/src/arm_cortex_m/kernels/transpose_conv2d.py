"""TRANSPOSE_CONV2D of int8, or of int16 and weights of int8, as convolutions with parts of the kernel."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains, numbers
from .conv2d import MORE, ROWS, ROWS_S16, bounds, int8_tail, is_int8, tail_s16, window
from .rescale import fields_of, folded

_Array = np.ndarray[Any, Any]
#: Of an axis, for each phase: the taps in the order of the input's lines, and the padding before.
_Phases = list[tuple[list[int], int]]
_ALIGNMENT = 8


def transpose_conv2d(op: Op, chains: Chains) -> Call | None:
    """The call for a transposed convolution; None: its types or factors are others."""
    weights = op.inputs[1].data
    if weights is None:
        return None
    wide = op.inputs[0].dtype is DType.INT16
    rows, columns = _phases(op, 0), _phases(op, 1)
    parts = [_part(weights, down, across) for down, _ in rows for across, _ in columns]
    found = _rescaling_s16(op, chains, parts) if wide else _rescaling(op, chains, parts)
    if found is None:
        return None
    tail, rescale = found
    deepest = max(part.shape[1] for part in parts)
    fields = {
        **window(op, *weights.shape[1:3]),
        "out_channels": len(weights),
        **({} if wide else {"out_stride": len(weights), "zero_point": int(numbers(op.inputs[3])[0])}),
        "weights": np.concatenate([*(part.reshape(-1) for part in parts), np.zeros(MORE, np.int8)]).astype(np.int8),
        **rescale,
    }
    phases = {
        f"phases.{name}_{axis}": np.array([values[position] for values in each], np.int32)
        for axis, each in (("y", _sizes(rows)), ("x", _sizes(columns)))
        for position, name in enumerate(("taps", "pads"))
    }
    function = f"tosa_transpose_conv2d_{'s16' if wide else 's8'}"
    return Call(
        ops=(op, *tail),
        function=function,
        source=f"{function}.c",
        fields={f"conv.{name}": value for name, value in fields.items()} | phases,
        inputs=(op.inputs[0],),
        scratch=_results(op) + (ROWS_S16 * 2 if wide else ROWS) * (deepest + MORE),
    )


def _phases(op: Op, axis: int) -> _Phases:
    """Result r comes from line i of the input by the tap r - before - i * stride."""
    kernel, stride, before = op.inputs[1].shape[1 + axis], op.attrs["stride"][axis], op.attrs["out_pad"][2 * axis]
    out: _Phases = []
    for phase in range(stride):
        first = (phase - before) % stride
        taps = list(range(first, kernel, stride))[::-1]
        out.append((taps, max(len(taps), 1) - 1 - (phase - before - first) // stride))
    return out


def _sizes(phases: _Phases) -> list[tuple[int, int]]:
    return [(max(len(taps), 1), pad) for taps, pad in phases]


def _part(weights: _Array, down: list[int], across: list[int]) -> _Array:
    """A part of the kernel, a row for each output channel; of no taps, one that is 0."""
    part = weights[:, down][:, :, across]
    shape = len(weights), max(len(down), 1), max(len(across), 1), weights.shape[3]
    return (part if part.size else np.zeros(shape, weights.dtype)).reshape(len(weights), -1)


def _rescaling(op: Op, chains: Chains, parts: list[_Array]) -> tuple[tuple[Op, ...], dict[str, int | _Array]] | None:
    """The operators behind, and the fields of the rescaling, with the biases of each part."""
    tail = int8_tail(op, chains) if is_int8(op) else None
    if tail is None:
        return None
    zero_point, limits = int(numbers(op.inputs[3])[0]), bounds(tail)
    each = [fields_of(tail[0], limits, folded(op.inputs[2], part, zero_point), part) for part in parts]
    known = [fields for fields in each if fields is not None]
    if len(known) < len(each):
        return None
    biases = np.concatenate([np.asarray(fields["rescale.biases"]) for fields in known])
    return tail, {**known[0], "rescale.biases": biases}


def _rescaling_s16(
    op: Op, chains: Chains, parts: list[_Array]
) -> tuple[tuple[Op, ...], dict[str, int | _Array]] | None:
    """The same of int16; the biases are those of all parts."""
    each = [tail_s16(op, chains, part) for part in parts]
    return each[0] if all(found is not None for found in each) else None


def _results(op: Op) -> int:
    """Bytes of a line of a phase; 0 if there is one phase of columns."""
    stride = op.attrs["stride"][1]
    line = (
        -(-op.output.shape[2] // stride) * prod(op.output.shape[3:]) * (2 if op.inputs[0].dtype is DType.INT16 else 1)
    )
    return 0 if stride == 1 else -(-line // _ALIGNMENT) * _ALIGNMENT
