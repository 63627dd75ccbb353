"""Random inputs that a graph can be run on: what it takes as indices stays within what they index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tosa.dtypes import numpy_dtype
from ..tosa.graph import Graph
from ..tosa.ir import Op, Tensor

Array = np.ndarray[Any, Any]

#: Operators whose result has the values of the operands at these positions, and no others but constants.
_KEEP_VALUES = {
    **dict.fromkeys(("CAST", "IDENTITY", "PAD", "RESHAPE", "REVERSE", "SLICE", "TILE", "TRANSPOSE", "CLAMP"), (0,)),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), (0, 1)),
    "SELECT": (1, 2),
}
#: Of GATHER and SCATTER, ``values[n, index]``: the operand that is indexed, and that of the indices.
_INDEXED, _INDICES = 0, 1


def random_inputs(graph: Graph, seed: int) -> list[Array]:
    """One array per input: integers over their whole range, booleans, floats from a normal distribution.

    Integers that the graph uses as indices, as they are or moved, are within the range that they index.
    """
    rng = np.random.default_rng(seed)
    counts = _indexed_elements(graph)
    arrays: list[Array] = []
    for tensor in graph.inputs:
        dtype = numpy_dtype(tensor.dtype)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            low, high = int(limits.min), int(limits.max)
            if id(tensor) in counts:
                low, high = 0, min(high, counts[id(tensor)] - 1)
            arrays.append(rng.integers(low, high, tensor.shape, dtype, endpoint=True))
        elif dtype.kind == "b":
            arrays.append(rng.integers(0, 2, tensor.shape).astype(dtype))
        else:
            arrays.append(rng.standard_normal(tensor.shape).astype(dtype))
    return arrays


def _indexed_elements(graph: Graph) -> dict[int, int]:
    """Of each tensor, by ``id``, whose values are indices: of how many elements at most."""
    counts: dict[int, int] = {}

    def limit(tensor: Tensor, count: int) -> None:
        counts[id(tensor)] = min(count, counts.get(id(tensor), count))

    for op in reversed(list(graph.ops)):
        if op.name in ("GATHER", "SCATTER"):
            limit(op.inputs[_INDICES], op.inputs[_INDEXED].shape[1])
        for operand in _operands_kept(op):
            if (count := counts.get(id(op.output))) is not None:
                limit(operand, count)
    return counts


def _operands_kept(op: Op) -> list[Tensor]:
    """The operands whose values the result has."""
    if op.name == "CONCAT":
        return op.inputs
    return [op.inputs[position] for position in _KEEP_VALUES.get(op.name, ())]
