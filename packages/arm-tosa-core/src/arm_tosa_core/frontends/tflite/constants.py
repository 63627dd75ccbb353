"""The numbers of a file's constants: little endian, two of four bits to a byte, or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ...support.errors import UsageError
from .flatbuffer import Table


class Kind(NamedTuple):
    """How a type of the schema is stored, and the tensor that holds it."""

    stored: str
    dtype: torch.dtype
    bits: int


#: By number in the schema. A text, a variant and a resource are handles, which programs do not compute with.
KINDS = {
    0: Kind("<f4", torch.float32, 32),
    1: Kind("<f2", torch.float16, 16),
    2: Kind("<i4", torch.int32, 32),
    3: Kind("u1", torch.uint8, 8),
    4: Kind("<i8", torch.int64, 64),
    6: Kind("?", torch.bool, 8),
    7: Kind("<i2", torch.int16, 16),
    8: Kind("<c8", torch.complex64, 64),
    9: Kind("i1", torch.int8, 8),
    10: Kind("<f8", torch.float64, 64),
    13: Kind("<i4", torch.int32, 32),
    15: Kind("<u4", torch.uint32, 32),
    17: Kind("i1", torch.int8, 4),
}
#: Types that are not read.
OTHERS = {
    5: "STRING",
    11: "COMPLEX128",
    12: "UINT64",
    14: "VARIANT",
    16: "UINT16",
    18: "BFLOAT16",
    19: "INT2",
    20: "UINT4",
    21: "FLOAT8_E4M3FN",
    22: "FLOAT8_E5M2",
}
#: Elements of a sparse constant at most, for each byte of the file.
_SPARSE = 64


def constant(data: bytes, buffer: Table, tensor: Table, kind: Kind, name: str) -> torch.Tensor | None:
    """The numbers of a tensor; None: the file has none."""
    if (start := buffer.number(1, "Q")) > 1:  # behind the flatbuffer, as in files beyond 2 GiB
        size = buffer.number(2, "Q")
        if start + size > len(data):
            raise UsageError(f"the constant {name!r} goes beyond the file's end")
        stored = np.frombuffer(data, np.uint8, size, start)
    else:
        stored = buffer.array(0, "B")
    shape = tensor.integers(0)
    if not stored.size:
        return torch.empty(shape, dtype=kind.dtype) if 0 in shape else None
    if sparsity := tensor.child(6):
        return torch.from_numpy(_dense(sparsity, stored, kind, shape, name, len(data)))
    return torch.from_numpy(_elements(stored, kind, int(np.prod(shape, dtype=np.int64)), name).reshape(shape).copy())


def _elements(stored: np.ndarray[Any, Any], kind: Kind, count: int, name: str) -> np.ndarray[Any, Any]:
    size = (count * kind.bits + 7) // 8
    if stored.size != size:
        raise UsageError(f"the constant {name!r} takes {size} bytes, and has {stored.size}")
    if kind.bits == 4:
        both: np.ndarray[Any, Any] = np.stack([stored << 4, stored & 0xF0], axis=1).reshape(-1)[:count]
        return both.view(np.int8) >> 4
    return stored.view(kind.stored)


def _dense(
    sparsity: Table, stored: np.ndarray[Any, Any], kind: Kind, shape: Sequence[int], name: str, size: int
) -> np.ndarray[Any, Any]:
    """A constant with all its zeros.

    The levels of its storage are axes in ``order``, those of a block last. A level is dense, or says by segments
    and indices which of its places are there.
    """
    order, blocked = sparsity.integers(0), sparsity.integers(1)
    levels = sparsity.children(2)
    if sorted(order) != list(range(len(shape) + len(blocked))) or len(levels) != len(order):
        raise UsageError(f"the sparse constant {name!r} has the levels {order} and the axes {list(shape)}")
    elements = int(np.prod(shape, dtype=np.int64))
    if elements > _SPARSE * size:
        raise UsageError(f"the sparse constant {name!r} has {elements} elements, too many for its file")
    places = np.zeros((1, 0), np.int64)  # of entries found so far, by level
    position = np.zeros(1, np.int64)
    extents = []
    for level in levels:
        if level.number(0, "b") == 0:
            extent = level.number(1)
            extents.append(extent)
            if extent < 0 or len(position) * extent > elements:
                raise UsageError(f"the sparse constant {name!r} has a level of {extent}")
            new = np.tile(np.arange(extent), len(position))
            position = np.repeat(position * extent, extent) + new
            places = np.column_stack([np.repeat(places, extent, axis=0), new])
        else:
            segments, indices = (_index_vector(level, field) for field in (2, 4))
            counts = segments[position + 1] - segments[position]
            if (counts < 0).any() or counts.sum() > len(indices):
                raise UsageError(f"the sparse constant {name!r} has segments in no order")
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            position = np.repeat(segments[position], counts) + within
            places = np.column_stack([np.repeat(places, counts, axis=0), indices[position]])
            extents.append(int(indices.max(initial=0)) + 1)
    values = _elements(stored, kind, len(position), name)
    at = np.zeros((len(position), len(shape)), np.int64)
    steps = np.ones(len(shape), np.int64)
    for place, number in reversed(list(enumerate(order))):
        axis = number if number < len(shape) else blocked[number - len(shape)]
        at[:, axis] += places[:, place] * steps[axis]
        steps[axis] *= extents[place]
    dense = np.zeros(shape, values.dtype)
    dense[tuple(at.T)] = values[position if len(values) > len(position) else slice(None)]
    return dense


def _index_vector(level: Table, field: int) -> np.ndarray[Any, Any]:
    """A union of vectors of int32, uint16 and uint8."""
    code = {1: "i", 2: "H", 3: "B"}.get(level.number(field, "B"))
    table = level.child(field + 1)
    if code is None or table is None:
        raise UsageError("a sparse constant has no indices")
    return table.array(0, code).astype(np.int64)
