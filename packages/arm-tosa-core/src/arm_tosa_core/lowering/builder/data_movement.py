"""Operators that move data: they take any type, quantized or not, and keep the scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch.nn import functional

from ...support.errors import Rejected, require
from ...tosa.dtypes import numpy_dtype
from ...tosa.ir import DType, Tensor, finest_axes, joined
from ..values import QParams, Value, inverse, is_identity
from .casts import Casts
from .quantization import Quantization

_T = TypeVar("_T")
#: SLICEs in place of a GATHER at most.
_MOST_RUNS = 64


class DataMovement(Quantization, Casts):
    """TRANSPOSE, RESHAPE, SLICE, CONCAT, PAD, TILE, REVERSE, GATHER, SCATTER."""

    def TRANSPOSE(self, x: Value, perm: Sequence[int]) -> Value:
        perm = tuple(p % x.rank for p in perm)
        quant = x.quant
        if quant is not None and quant.axis is not None:
            quant = replace(quant, axis=perm.index(quant.axis))
        shape = tuple(x.shape[p] for p in perm)
        if x.const is not None:
            return x.replace(shape=shape, const=x.const.permute(perm), quant=quant)
        return x.replace(shape=shape, perm=tuple(x.axes[p] for p in perm), quant=quant)

    def nhwc(self, x: Value) -> Value:
        return self.TRANSPOSE(x, [0, *range(2, x.rank), 1])

    def nchw(self, x: Value) -> Value:
        return self.TRANSPOSE(x, [0, x.rank - 1, *range(1, x.rank - 1)])

    def RESHAPE(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(int(n) for n in shape)
        if shape == x.shape:
            return x
        require(math.prod(shape) == x.size, f"reshapes {list(x.shape)} to {list(shape)}, which has other elements")
        x = self.movable(x)
        quant = x.quant
        if quant is not None and quant.axis is not None:
            quant = replace(quant, axis=self._same_axis(x.shape, shape, quant.axis))
        if x.const is not None:
            return x.replace(shape=shape, const=x.const.reshape(shape), quant=quant)
        if x.perm is None or not x.size:
            return x.replace(shape=shape, tensor=self.reshape(self.tensor(x), shape), perm=None, quant=quant)
        groups = _groups(x, shape)
        axes = [i for i, n in enumerate(shape) if n == 1] + [i for group in groups for i in group.axes]
        tensor = self.reshape(
            self._joined(x, [part for group in groups for part in group.parts]), [shape[i] for i in axes]
        )
        return x.replace(shape=shape, tensor=tensor, perm=inverse(tuple(axes)), quant=quant)

    def _joined(self, x: Value, parts: Sequence[_Part]) -> Tensor:
        """The tensor whose axes lie in the order of parts, with those of one element first."""
        assert x.tensor is not None
        lying = sorted(parts, key=lambda part: part.place)
        if lying == parts:
            return x.tensor
        if all(part.is_whole for part in parts):
            ones = (i for i, n in enumerate(x.shape) if n == 1)
            return self.tensor(x, inverse((*ones, *(part.axis for part in parts))))
        split = self.reshape(x.tensor, [part.size for part in lying])
        return self._transposed(split, tuple(map(lying.index, parts)))

    def split_channels(self, value: Value, groups: int) -> tuple[Value, list[int]]:
        """Channels that lie last in memory stay there."""
        batch, channels, *space = value.shape
        if value.perm is None:
            return self.RESHAPE(value, [batch, groups, value.size // max(batch * groups, 1)]), [-1]
        parts = self.RESHAPE(value, [batch, groups, channels // groups, *space])
        return parts, list(range(2, parts.rank))

    def _same_axis(self, old: tuple[int, ...], new: tuple[int, ...], axis: int) -> int:
        before = int(np.prod(old[:axis], dtype=np.int64))
        for i, n in enumerate(new):
            if n == old[axis] and int(np.prod(new[:i], dtype=np.int64)) == before:
                return i
        raise Rejected(f"reshapes {list(old)} to {list(new)}, across the axis of its per-channel scales")

    def SLICE(self, x: Value, start: Sequence[int], size: Sequence[int]) -> Value:
        if tuple(size) == x.shape:
            return x
        if x.quant is not None and x.quant.axis is not None:
            x = x.replace(quant=x.quant.part(start[x.quant.axis], size[x.quant.axis]))
        if x.const is not None:
            index = tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))
            return x.replace(shape=tuple(size), const=x.const[index])
        tensor = self.tensor(x, x.axes)
        operands = [tensor, self.graph.shape(_to_memory(x, start)), self.graph.shape(_to_memory(x, size))]
        return x.replace(shape=tuple(size), tensor=self.emit("SLICE", operands))

    def slice_axis(self, x: Value, axis: int, start: int, size: int) -> Value:
        starts, sizes = [0] * x.rank, list(x.shape)
        starts[axis], sizes[axis] = start, size
        return self.SLICE(x, starts, sizes)

    def CONCAT(self, values: Sequence[Value], axis: int) -> Value:
        values = [v for v in values if v.size] or list(values[:1])
        if len(values) == 1:
            return values[0]
        if all(v.is_const and v.quant is None for v in values):
            return self.const(torch.cat([v.real() for v in values], axis))
        values, quant = self.alike(values)
        perm, tensors = self.same_order(*values)
        return self.value(self._concatenated(tensors, perm[axis]), values[0].dtype, perm, quant)

    def alike(self, values: Sequence[Value]) -> tuple[list[Value], QParams | None]:
        """Values with one scale, zero point and integer type, and the scale; all real if one of them has to be."""
        first = next((v for v in values if v.quant and not v.is_const), None)
        if first is None or not all(v.quant or v.is_const for v in values):
            return [self.real(v) for v in values], None
        if len({v.quant for v in values}) > 1:
            values = self.shared(*values)
            quants = [v.quant for v in values if v.quant]
            both = replace(quants[0], qmin=min(q.qmin for q in quants), qmax=max(q.qmax for q in quants))
            first = next(v for v in values if not v.is_const).replace(quant=both)
        return [self.like(self.apply_clamp(v), first) for v in values], first.quant

    def concat_channels(self, parts: Sequence[Value], axis: int) -> Value:
        if parts[0].quant is None or len(parts) == 1:
            return self.CONCAT(parts, axis)
        parts = [self.movable(p) for p in parts]
        quants = [p.quant for p in parts if p.quant]
        scales = [
            s
            for q, p in zip(quants, parts, strict=True)
            for s in (q.scale if q.axis is not None else q.scale * p.shape[axis])
        ]
        low, high = min(q.qmin for q in quants), max(q.qmax for q in quants)
        merged = QParams(tuple(scales), 0, low, high, axis)
        if len(set(scales)) == 1:
            merged = replace(merged, scale=(scales[0],), axis=None)
        perm, tensors = self.same_order(*parts)
        return self.value(self._concatenated(tensors, perm[axis]), parts[0].dtype, perm, merged)

    def _concatenated(self, tensors: list[Tensor], axis: int) -> Tensor:
        return joined(lambda group: self.emit("CONCAT", group, axis=axis), tensors)

    def like(self, value: Value, other: Value) -> Value:
        """The value with the scale, zero point and integer type of ``other``."""
        quant = other.quant
        assert quant is not None and other.tensor is not None
        require(quant.axis is None, "is used before it is quantized", "quantize the result of the layer before it")
        kinds = {DType.INT8: torch.int8, DType.INT16: torch.int16, DType.INT32: torch.int32}
        require(other.tensor.dtype in kinds, "moves a 48-bit accumulator", "quantize the layer before it")
        return self.quantize(value, quant, kinds[other.tensor.dtype])

    def PAD(self, x: Value, padding: Sequence[tuple[int, int]], number: float = 0.0) -> Value:
        if not any(a or b for a, b in padding):
            return x
        x = self.apply_clamp(x)
        quant = x.quant
        if quant is not None and quant.axis is not None:
            require(number == 0, f"pads numbers that have a scale per channel with {number:g}")
            before, after = padding[quant.axis]
            quant = replace(quant, scale=(1.0,) * before + quant.scale + (1.0,) * after)
        elif quant is not None:
            self.require_steps(torch.tensor(number), quant)
            number = int(quant.quantize(torch.tensor(number)))
        if x.const is not None and quant is not None:
            padded = functional.pad(x.const, [n for pair in reversed(padding) for n in pair], value=number)
            return self.const(padded, quant)
        tensor = self.tensor(x, x.axes)
        flat = [n for pair in _to_memory(x, padding) for n in pair]
        fill = number if tensor.dtype.is_float else int(number)
        if not (tensor.dtype.is_float or tensor.dtype is DType.BOOL):
            ends = np.iinfo(numpy_dtype(tensor.dtype))
            require(ends.min <= fill <= ends.max, f"pads with {fill}, which {tensor.dtype} does not hold")
        constant = self.graph.constant(np.array([fill], numpy_dtype(tensor.dtype)), tensor.dtype)
        out = self.emit("PAD", [tensor, self.graph.shape(flat), constant])
        return self.value(out, x.dtype, x.axes, quant)

    def TILE(self, x: Value, repeats: Sequence[int]) -> Value:
        if all(n == 1 for n in repeats):
            return x
        if x.quant is not None and x.quant.axis is not None:
            x = x.replace(quant=replace(x.quant, scale=x.quant.scale * repeats[x.quant.axis]))
        if x.const is not None:
            return x.replace(
                shape=tuple(n * r for n, r in zip(x.shape, repeats, strict=True)), const=x.const.repeat(*repeats)
            )
        tensor = self.tensor(x, x.axes)
        out = self.emit("TILE", [tensor, self.graph.shape(_to_memory(x, repeats))])
        return self.value(out, x.dtype, x.axes, x.quant, clamp=x.clamp, bounds=x.bounds)

    def gather_by_slices(self, values: Sequence[Value], axis: int, places: Sequence[tuple[int, int]]) -> Value | None:
        """A SLICE for each run of indices, and a CONCAT."""
        runs: list[tuple[int, int, int]] = []
        for number, start in places:
            if runs and number == runs[-1][0] and start == sum(runs[-1][1:]):
                runs[-1] = (number, runs[-1][1], runs[-1][2] + 1)
            else:
                runs.append((number, start, 1))
        if not runs or len(runs) > _MOST_RUNS:
            return None
        return self.CONCAT([self.slice_axis(values[number], axis, start, size) for number, start, size in runs], axis)

    def REVERSE(self, x: Value, axis: int) -> Value:
        """REVERSE; if the target reverses no last axis, with another axis last."""
        if x.quant is not None and x.quant.axis == axis:
            x = x.replace(quant=replace(x.quant, scale=x.quant.scale[::-1]))
        if x.const is not None:
            return x.replace(const=x.const.flip(axis))
        try:
            return x.replace(tensor=self.emit("REVERSE", [self.tensor(x, x.axes)], axis=x.axes[axis]), const=None)
        except Rejected:
            last = x.rank - 1
            if x.axes[axis] != last:
                raise
            if not last:
                return self.RESHAPE(self.REVERSE(self.RESHAPE(x, [x.size, 1]), 0), x.shape)
            plain, channels_last = tuple(range(x.rank)), (0, last, *range(1, last)) if last > 1 else (1, 0)
            perm = plain if axis != last else channels_last
            tensor = self.emit("REVERSE", [self.tensor(x, perm)], axis=perm[axis])
            return x.replace(tensor=tensor, perm=None if is_identity(perm) else perm)

    def GATHER(self, values: Value, indices: Value) -> Value:
        if values.dtype == torch.bool:
            return self.logical(self.GATHER(self.stored(values), indices))
        self.require_one_scale(values, 1)
        if values.const is not None and indices.const is not None:
            lanes = torch.arange(values.shape[0])[:, None]
            picked = values.const[lanes, indices.const.long()]
            return values.replace(shape=tuple(picked.shape), const=picked)
        inputs = [self.tensor(self.apply_clamp(values)), self.index(indices)]
        return self.value(self.emit("GATHER", inputs), values.dtype, quant=values.quant)

    def SCATTER(self, values: Value, indices: Value, new: Value) -> Value:
        if values.dtype == torch.bool:
            return self.logical(self.SCATTER(self.stored(values), indices, self.stored(new)))
        (values, new), quant = self.alike([values, new])
        inputs = [self.tensor(values), self.index(indices), self.tensor(new)]
        bounds = values.bounds and new.bounds
        if bounds:
            assert values.bounds and new.bounds
            bounds = min(values.bounds[0], new.bounds[0]), max(values.bounds[1], new.bounds[1])
        return self.value(self.emit("SCATTER", inputs), values.dtype, quant=quant, bounds=bounds)

    def index(self, indices: Value) -> Tensor:
        """Indices as int32; moved before they are cast, for some specifications only move reals."""
        return self.tensor(self.cast(self.in_order(indices), torch.int32))

    def in_order(self, x: Value) -> Value:
        return x if x.perm is None or x.is_const else x.replace(tensor=self.tensor(x), perm=None)

    def as_index_numbers(self, indices: Value) -> Value:
        """int64 is safe here, since an index is smaller than its axis."""
        require(indices.dtype in (torch.int32, torch.int64), f"takes integer indices, got {indices.dtype}")
        small = self.cast(indices, torch.int32)
        return small if indices.is_const or self.spec.support_integer() else self.cast(small, torch.float32)

    def stored(self, value: Value) -> Value:
        """Bools, which TOSA neither gathers nor scatters, as numbers."""
        return self.cast(value, torch.int8 if self.spec.support_integer() else torch.float32)

    def logical(self, value: Value) -> Value:
        """``stored`` undone."""
        if value.const is None and value.dtype.is_floating_point:
            return self.elementwise("GREATER", value, self.const(torch.tensor(0.5)), dtype=torch.bool)
        return self.cast(value, torch.bool)


@dataclass(frozen=True)
class _Part:
    """A part of an axis: of what a reshape parts, or all of it.

    Args:
        axis: the axis.
        size: how many elements it has.
        place: where it lies in memory: the axis, and the part of it.
        is_whole: it is all of the axis.
    """

    axis: int
    size: int
    place: tuple[int, int]
    is_whole: bool


@dataclass(frozen=True)
class _Group:
    """Parts that have to lie side by side, one behind the other, and the axes that a reshape makes of them."""

    parts: list[_Part]
    axes: list[int]

    @property
    def place(self) -> tuple[int, int]:
        """Where the parts are brought together: where the largest of them lies, or of whole axes if there are any.

        So images stay NHWC, and least is moved.
        """
        return max(self.parts, key=lambda part: (part.is_whole, part.size, part.axis)).place


def _groups(x: Value, shape: tuple[int, ...]) -> list[_Group]:
    """What a reshape merges, as it is to lie in memory. Axes of one element, in no group, lie anywhere."""
    groups: list[_Group] = []
    old = [i for i, n in enumerate(x.shape) if n != 1]
    new = [i for i, n in enumerate(shape) if n != 1]
    while old or new:
        before, after = [old.pop(0)], [new.pop(0)]
        sizes = [x.shape[before[0]], shape[after[0]]]
        while sizes[0] != sizes[1]:
            side, axes, of, group = (0, old, x.shape, before) if sizes[0] < sizes[1] else (1, new, shape, after)
            group.append(axes.pop(0))
            sizes[side] *= of[group[-1]]
        cut, (first, second) = finest_axes([x.shape[axis] for axis in before], [shape[axis] for axis in after])
        if not cut:  # no parts of the ones are parts of the others
            whole = [_Part(axis, x.shape[axis], (x.axes[axis], 0), True) for axis in before]
            groups.append(_Group(whole, after))
            continue
        parts = [
            _Part(axis, cut[i], (x.axes[axis], i), len(own) == 1)
            for axis, own in zip(before, first, strict=True)
            for i in own
        ]
        groups += [_Group([parts[i] for i in own], [axis]) for axis, own in zip(after, second, strict=True)]
    return sorted(groups, key=lambda group: group.place)


def _to_memory(x: Value, per_axis: Sequence[_T]) -> list[_T]:
    """One item per logical axis, in the order in which the axes lie in memory."""
    result = list(per_axis)
    for logical, physical in enumerate(x.axes):
        result[physical] = per_axis[logical]
    return result
