"""The part of a graph that an estimate is asked about: some operators, and what stands for their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from ..tosa.operator_classes import CONVOLUTIONS, MOVES
from ..tosa.walks import only_reader

#: Zero points of what is computed, or what is compared with them, by their positions.
_ZEROS = {**dict.fromkeys(CONVOLUTIONS, (3,)), "RESCALE": (3, 4), "MATMUL": (2, 3), "PAD": (2,)}


def _as_it_is(graph: Graph, x: Tensor) -> Tensor:
    return x


@dataclass(frozen=True)
class Surroundings:
    """What an estimate must see of the operators around another one.

    Args:
        fused: names of operators that the device may compute as one with the operator before them.
        edge: makes of an input of the part what stands for a neighbour that is not in it, and of a result what stands
            for its reader. Inputs and outputs of a whole graph may cost something else than what is inside.
    """

    fused: tuple[str, ...]
    edge: Callable[[Graph, Tensor], Tensor] = _as_it_is

    @property
    def between(self) -> frozenset[str]:
        """Names of operators that may be computed as one with the operator behind or in front of them."""
        return frozenset((*MOVES, *self.fused))

    def around(self, graph: Graph, op: Op) -> list[Op]:
        """An operator and those that may be computed as one with it, in order.

        They are what moves data before it and what is fused behind it; of a mover also what reads it.
        """
        before = sorted(_before(graph, op), key=lambda each: each.position)
        return [*before, op, *self.behind(graph, op)]

    def behind(self, graph: Graph, op: Op) -> Iterator[Op]:
        """What may be computed as one with an operator, behind it; of a mover also what reads it."""
        moved = op.name in MOVES
        while (reader := only_reader(graph, op)) is not None:
            if reader.name not in self.fused and not moved:
                return
            yield reader
            moved = moved and reader.name in MOVES
            op = reader

    def part(self, graph: Graph, ops: Sequence[Op]) -> tuple[Graph, dict[Op, Op]]:
        """A graph of copies of some operators, and the copy of each.

        Numbers that depend on training are others, so that networks of equal shapes share what was estimated.

        Args:
            ops: in the order of the graph.
        """
        small, tensors, copies = Graph(), dict[Tensor, Tensor](), dict[Op, Op]()
        inside = set(ops)

        def neighbour(tensor: Tensor) -> Tensor:
            copy = small.input(f"x{len(small.inputs)}", tensor.shape, tensor.dtype)
            if tensor.producer is None:
                return copy
            copy = self.edge(small, copy)
            if any(use not in inside for use in tensor.uses):
                small.outputs.append(self.edge(small, copy))
            return copy

        for op in ops:
            inputs = []
            for position, tensor in enumerate(op.inputs):
                if tensor.is_constant:
                    inputs.append(small.constant(_numbers(op, position, tensor), tensor.dtype))
                    continue
                if tensor not in tensors:
                    tensors[tensor] = neighbour(tensor)
                inputs.append(tensors[tensor])
            copies[op] = copy = small.append(op.name, inputs, op.attrs)
            tensors |= zip(op.outputs, copy.outputs, strict=True)
        results = [tensor for op in ops for tensor in op.outputs]
        outside = [t for t in results if t in graph.outputs or any(use not in inside for use in t.uses)]
        small.outputs[:0] = [tensors[t] if t in graph.outputs else self.edge(small, tensors[t]) for t in outside]
        return small, copies


def _before(graph: Graph, op: Op) -> Iterator[Op]:
    for x in op.inputs if op.name == "CONCAT" else op.inputs[:1]:
        if (mover := x.producer) is not None and mover.name in MOVES and only_reader(graph, mover) is not None:
            yield mover
            yield from _before(graph, mover)


def _numbers(op: Op, position: int, constant: Tensor) -> np.ndarray[Any, Any]:
    """The numbers of a constant, or, of those that depend on training, any in their place."""
    name, dtype = op.name, constant.dtype
    if dtype is DType.INT8 and constant.data is not None and position in _ZEROS.get(name, ()):
        zero = int(constant.data.item())
        return np.array([zero if zero in (-128, 127) else 1], np.int8)
    if name in CONVOLUTIONS and position == 2:
        return np.zeros(constant.shape, np.int32 if dtype is DType.INT32 else np.int64)
    if name in CONVOLUTIONS and position == 1 and constant.data is not None and (constant.data == 1).all():
        return constant.data  # a sum
    if (name in CONVOLUTIONS or name == "TABLE") and position == 1:
        most = {DType.INT4: 7, DType.INT8: 127}.get(dtype, 32767)
        numbers = np.random.default_rng(0).integers(-most, most + 1, constant.shape)
        if name == "CONV2D" and constant.data is not None:
            # Rows and columns of zeros, which a rewrite has put there, encode to next to nothing.
            numbers *= np.any(constant.data, axis=(0, 3), keepdims=True)
        return numbers.astype(np.int16 if dtype is DType.INT16 else np.int8)
    if name == "RESCALE" and position in (1, 2) and not _is_cast(op):
        wide = op.attrs["scale32"]
        if position == 2:
            return np.full(constant.shape, 38 if wide else 22, np.int8)
        return np.full(constant.shape, 1 << (30 if wide else 14), np.int32 if wide else np.int16)
    assert constant.data is not None
    return constant.data


def _is_cast(op: Op) -> bool:
    """Whether a RESCALE scales by one: it may be made one with what is in front of it, and another one not always."""
    multiplier, shift = op.inputs[1].data, op.inputs[2].data
    return multiplier is not None and shift is not None and bool(np.all(multiplier == np.int64(1) << shift))
