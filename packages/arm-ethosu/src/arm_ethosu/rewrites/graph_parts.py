"""The part of a graph that Vela is asked about: some operators, and what stands for their neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import CONVOLUTIONS, MOVES
from arm_tosa_core.tosa.walks import only_reader

from ..operator_classes import AT_THE_OUTPUT

#: Zero points of what is computed, or what is compared with them, by their positions.
_ZEROS = {**dict.fromkeys(CONVOLUTIONS, (3,)), "RESCALE": (3, 4), "MATMUL": (2, 3), "PAD": (2,)}
#: What Vela may treat as one with the operator behind or in front of it.
BETWEEN = frozenset((*MOVES, *AT_THE_OUTPUT))


def around(graph: Graph, op: Op) -> list[Op]:
    """An operator and those that Vela may treat as one with it, in order.

    They are what moves data before it and what is fused behind it; of a mover also what reads it.
    """
    return [*sorted(_before(graph, op), key=lambda each: each.position), op, *_behind(graph, op)]


def attention(graph: Graph, op: Op) -> list[Op]:
    """A mover behind a layer, and the attention that it belongs to, in order: its layers, products and what is between.

    The estimate needs the whole attention: Vela copies tensors that layers read in two shapes, and Ethos-U85 may
    compute scores twice, for their maxima. Without a product behind the mover it is ``with_layer``.
    """
    if (end := product(graph, op)) is None:
        return with_layer(graph, op)
    inside = _up_to_product(scores := _scores(end))
    products = {scores, *(each for each in inside if each.name == "MATMUL")}
    layers = (_layer(graph, x) for each in products for x in each.inputs[:2])
    return _in_order(products.union(inside, *layers, *(_behind(graph, each) for each in products)))


def product(graph: Graph, op: Op) -> Op | None:
    """The product that reads what a mover makes, perhaps in another shape or order; None: none does."""
    end: Op | None = op
    while end is not None and end.name != "MATMUL":
        reader = only_reader(graph, end)
        end = reader if reader is not None and reader.name in ("RESHAPE", "TRANSPOSE", "MATMUL") else None
    return end


def is_factor(op: Op) -> bool:
    """Whether a product reads what a mover makes, perhaps in another shape or order, and perhaps beside others."""
    uses = op.output.uses.operators()
    return any(use.name == "MATMUL" or (use.name in ("RESHAPE", "TRANSPOSE") and is_factor(use)) for use in uses)


def with_layer(graph: Graph, op: Op) -> list[Op]:
    """A mover behind a layer, the layer, and what Vela may treat as one with either, in order."""
    return _in_order({*around(graph, op), *_layer(graph, op.inputs[0])})


def with_movers(ops: Iterable[Op]) -> list[Op]:
    """Operators and what moves data in front of them and behind, in order.

    What a TRANSPOSE at their edge takes depends on the layout that Vela gives the image there, which movers decide.
    """
    reached, waiting = set[Op](), list(ops)
    while waiting:
        op = waiting.pop()
        if op not in reached:
            reached.add(op)
            waiting += [x.producer for x in op.inputs if x.producer is not None and _moves(x.producer)]
            waiting += [use for use in op.output.uses.operators() if _moves(use)]
    return _in_order(reached)


def _moves(op: Op) -> bool:
    return op.name in ("CONCAT", *MOVES)


def _in_order(ops: set[Op]) -> list[Op]:
    return sorted(ops, key=lambda each: each.position)


def _layer(graph: Graph, x: Tensor) -> set[Op]:
    """What ``x`` is made of back to a layer, or to those of its heads, as far as nobody else reads it."""
    op = x.producer
    if op is None or op.name not in (*BETWEEN, "CONCAT", "CONV2D") or only_reader(graph, op) is None:
        return set()
    if op.name == "CONV2D":
        shaped = op.inputs[0].producer
        return {op, shaped} if shaped is not None and shaped.name == "RESHAPE" else {op}
    return {op}.union(*(_layer(graph, source) for source in (op.inputs if op.name == "CONCAT" else op.inputs[:1])))


def _scores(product: Op) -> Op:
    """The product behind the first factor of another product; that other one, if layers alone make its factors."""
    waiting, seen = list(product.inputs[:1]), set[Op]()
    while waiting:
        op = waiting.pop().producer
        if op is not None and op not in seen and op.name not in CONVOLUTIONS:
            if op.name == "MATMUL":
                return op
            seen.add(op)
            waiting += op.inputs
    return product


def _up_to_product(scores: Op) -> set[Op]:
    """What is computed of scores up to the next products, which are among it; nothing, if there are none."""
    reached, waiting = set[Op](), [scores]
    while waiting:
        for use in waiting.pop().output.uses.operators():
            if use not in reached and use.name not in CONVOLUTIONS:
                reached.add(use)
                waiting += [] if use.name == "MATMUL" else [use]
    return reached if any(op.name == "MATMUL" for op in reached) else set()


def part(graph: Graph, ops: Sequence[Op]) -> tuple[Graph, dict[Op, Op]]:
    """A graph of copies of some operators, and the copy of each.

    For other neighbours pools stand, because Vela lays out the inputs and outputs of a graph in another way, and copies
    what is read in two. Numbers that depend on training are others, so that networks of equal shapes share what was
    estimated.

    Args:
        ops: in the order of the graph.
    """
    small, tensors, copies = Graph(), dict[Tensor, Tensor](), dict[Op, Op]()
    inside = set(ops)

    def neighbour(tensor: Tensor) -> Tensor:
        copy = small.input(f"x{len(small.inputs)}", tensor.shape, tensor.dtype)
        if tensor.producer is None:
            return copy
        copy = _pooled(small, copy)
        if any(use not in inside for use in tensor.uses):
            small.outputs.append(_pooled(small, copy))
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
    small.outputs[:0] = [tensors[t] if t in graph.outputs else _pooled(small, tensors[t]) for t in outside]
    return small, copies


def _pooled(graph: Graph, x: Tensor) -> Tensor:
    """What a pool makes of an image; anything else itself."""
    if x.rank != 4 or x.dtype not in (DType.INT8, DType.INT16):
        return x
    return graph.append("MAX_POOL2D", [x], {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0)}).output


def _before(graph: Graph, op: Op) -> Iterator[Op]:
    for x in op.inputs if op.name == "CONCAT" else op.inputs[:1]:
        if (mover := x.producer) is not None and mover.name in MOVES and only_reader(graph, mover) is not None:
            yield mover
            yield from _before(graph, mover)


def _behind(graph: Graph, op: Op) -> Iterator[Op]:
    moved = op.name in MOVES
    while (reader := only_reader(graph, op)) is not None:
        if reader.name not in AT_THE_OUTPUT and not moved:
            return
        yield reader
        moved = moved and reader.name in MOVES
        op = reader


def _numbers(op: Op, position: int, constant: Tensor) -> np.ndarray[Any, Any]:
    """The numbers of a constant, or, of those that depend on training, any in their place."""
    name, dtype = op.name, constant.dtype
    if dtype is DType.INT8 and constant.data is not None and position in _ZEROS.get(name, ()):
        zero = int(constant.data.item())
        return np.array([zero if zero in (-128, 127) else 1], np.int8)
    if name in CONVOLUTIONS and position == 2:
        return np.zeros(constant.shape, np.int32 if dtype is DType.INT32 else np.int64)
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
    """Whether a RESCALE scales by one: Vela makes it one with what is in front of it, and another one not always."""
    multiplier, shift = op.inputs[1].data, op.inputs[2].data
    return multiplier is not None and shift is not None and bool(np.all(multiplier == np.int64(1) << shift))
