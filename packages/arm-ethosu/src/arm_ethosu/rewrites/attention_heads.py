"""Heads of attention on Ethos-U85: a convolution for each, or the columns of one, and side by side by copies."""

from __future__ import annotations

from math import prod

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.rewrite import Rewrite, Stage

from .by_estimate import WORTH_ASKING, Choice
from .inserter import Inserter

#: Columns for each row of a matrix from which on Vela transposes it slowly.
LONG = 10
#: Elements of a head below which columns are better for keys than a convolution for each; heads at most for either.
_SMALL, _MOST_HEADS = 2048, 16
#: Heads at most about which Vela is asked: each is a copy.
_FEW_HEADS = 16


def _axes(op: Op) -> tuple[list[int], list[int]]:
    """The sizes of the axes of a TRANSPOSE's operand and the order it gives them; those of one element left out."""
    x = op.inputs[0]
    axes = [axis for axis in op.attrs["perms"] if x.shape[axis] > 1]
    return [x.shape[axis] for axis in sorted(axes)], [sorted(axes).index(axis) for axis in axes]


def _is_linear(op: Op) -> bool:
    weights = op.inputs[1]
    pointwise = weights.shape[1:3] == (1, 1) and op.attrs["stride"] == (1, 1) and not any(op.attrs["pad"])
    return pointwise and all(x.is_constant for x in op.inputs[1:])


def _linear(x: Tensor, rows: int) -> Op | None:
    """The RESCALE of a 1x1 convolution over so many positions, if ``x`` is a view of its result and nothing else is."""
    while x.producer is not None and len(x.uses) == 1:
        if x.producer.name == "RESCALE":
            made = x.producer.inputs[0].producer
            linear = made is not None and made.name == "CONV2D" and _is_linear(made)
            return x.producer if linear and prod(x.shape[:-1]) == rows else None
        if x.producer.name != "RESHAPE":
            return None
        x = x.producer.inputs[0]
    return None


def _is_second_factor(x: Tensor) -> bool:
    """Whether ``x`` is nothing but the second operand of a product, of which Vela transposes the last two axes."""
    while len(x.uses) == 1 and x.uses[0].name == "RESHAPE":
        x = x.uses[0].output
    return len(x.uses) == 1 and x.uses[0].name == "MATMUL" and x.uses[0].inputs[1] is x


def _layer(insert: Inserter, scaled: Op, tokens: int, channels: slice) -> Tensor:
    """Some channels of a linear layer, [1, 1, tokens, channels]."""

    def part(x: Tensor) -> Tensor:
        assert x.data is not None
        return x if x.shape[0] == 1 else insert.graph.constant(x.data[channels].copy(), x.dtype)

    layer = scaled.inputs[0].producer
    assert layer is not None
    source, weights, bias, *zeros = layer.inputs
    source = insert.reshape(source, 1, 1, tokens, source.shape[-1])
    made = insert("CONV2D", source, part(weights), part(bias), *zeros, **layer.attrs)
    _, multiplier, shift, *zeros = scaled.inputs
    return insert("RESCALE", made, part(multiplier), part(shift), *zeros, **scaled.attrs)


def _heads_of_layers(graph: Graph, op: Op) -> bool:
    """Heads of a linear layer, [tokens, heads, size] by the perms (1, 2, 0) or (1, 0, 2), are made without moving it.

    A convolution for each head writes queries and keys where they belong, and keys then meet the TRANSPOSE that Vela
    puts before the second operand of a MATMUL. So do values, made of the layer's columns, which a convolution writes
    in as many cycles; of these small keys are made too. Three heads of [197, 64], with their layer and product, take
    85,000 cycles on Ethos-U85-256 in place of 103,000, and 210,000 of 249,000 where the scores are computed twice.
    """
    sizes, order = _axes(op)
    if order not in ([1, 2, 0], [1, 0, 2]):
        return False
    tokens, heads, size = sizes
    scaled = _linear(op.inputs[0], tokens)
    if scaled is None or heads > _MOST_HEADS:
        return False
    insert, keys = Inserter(graph, op), order == [1, 2, 0]
    values = not keys and _is_second_factor(op.output)
    columns = values or (keys and tokens * size < _SMALL)
    if columns:
        made = insert("TRANSPOSE", _layer(insert, scaled, tokens, slice(None)), perms=(0, 1, 3, 2))
        made = insert.reshape(made, *[1] * values, heads, size, tokens)
    else:
        parts = [_layer(insert, scaled, tokens, slice(head * size, (head + 1) * size)) for head in range(heads)]
        made = insert.join(parts, axis=1)
    if columns != keys:  # in four axes it and that of Vela undo one another
        made = insert("TRANSPOSE", made, perms=(0, 1, 3, 2) if made.rank == 4 else (0, 2, 1))
    graph.replace(op.output, insert.reshape(made, *op.output.shape))
    return True


def _not_few_heads(match: Match) -> str | None:
    sizes, order = _axes(match.op)
    if order != [1, 0, 2] or sizes[0] > _FEW_HEADS:
        return "it does not put a few heads side by side"
    return None if match.op.output.size >= WORTH_ASKING else "it moves little"


def _side_by_side(match: Match) -> Tensor:
    """A few heads [heads, tokens, size], by the perms (1, 0, 2), are copied to where they belong, one by one.

    Four heads of [256, 36] take 13,000 cycles fewer on Ethos-U85-256, two of [128, 64] 17,000.
    """
    (heads, tokens, size), _ = _axes(match.op)
    insert = Inserter(match.graph, match.op)
    x = insert.reshape(match.op.inputs[0], 1, heads, tokens, size)
    made = insert.join([insert.slice(x, 1, head, 1) for head in range(heads)], axis=3)
    return insert.reshape(made, *match.op.output.shape)


HEADS_OF_LAYERS = Rewrite("heads_of_layers", Stage.LEGALIZE, ("TRANSPOSE",), _heads_of_layers, frozenset(("RESHAPE",)))
HEADS_SIDE_BY_SIDE = Choice("heads_side_by_side", Pattern("TRANSPOSE"), _side_by_side, _not_few_heads)
