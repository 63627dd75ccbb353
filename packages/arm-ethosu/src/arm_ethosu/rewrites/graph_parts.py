"""The part of a graph that Vela is asked about."""

from __future__ import annotations

from collections.abc import Iterable

from arm_tosa_core.rewrites.graph_parts import Surroundings
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.operator_classes import CONVOLUTIONS, MOVES
from arm_tosa_core.tosa.walks import only_reader

from ..operator_classes import AT_THE_OUTPUT

#: Elements from which on moving them in another way is worth asking Vela about.
WORTH_ASKING = 4096


def _pooled(graph: Graph, x: Tensor) -> Tensor:
    """What a pool makes of an image; anything else itself."""
    if x.rank != 4 or x.dtype not in (DType.INT8, DType.INT16):
        return x
    return graph.append("MAX_POOL2D", [x], {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0)}).output


#: What Vela's estimate must see. For neighbours pools stand, because Vela lays out the inputs and outputs of a graph in
#: another way, and copies what is read in two.
VELA = Surroundings(AT_THE_OUTPUT, edge=_pooled)
around, part, _behind = VELA.around, VELA.part, VELA.behind


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
    if op is None or op.name not in (*VELA.between, "CONCAT", "CONV2D") or only_reader(graph, op) is None:
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
