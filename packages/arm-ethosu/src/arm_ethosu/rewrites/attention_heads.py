"""Heads of attention on Ethos-U85: a convolution for each, or the columns of one, and side by side by copies."""

from __future__ import annotations

from math import prod

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.rewrite import Inserter

from .graph_parts import WORTH_ASKING, attention

#: Heads at most about which Vela is asked: each is a copy, or a convolution.
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
            layer = x.producer.inputs[0].producer
            linear = layer is not None and layer.name == "CONV2D" and _is_linear(layer)
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
    sums = insert("CONV2D", source, part(weights), part(bias), *zeros, **layer.attrs)
    _, multiplier, shift, *zeros = scaled.inputs
    return insert("RESCALE", sums, part(multiplier), part(shift), *zeros, **scaled.attrs)


def no_heads(match: Match) -> str | None:
    """Why it is nothing for ``heads_of_layers`` to be asked about; None: it is."""
    sizes, order = _axes(match.op)
    if order not in ([1, 2, 0], [1, 0, 2]) or sizes[1] > _FEW_HEADS:
        return "it does not part a few heads"
    return None if _linear(match.op.inputs[0], sizes[0]) is not None else "they are of no linear layer"


def _of_layers(match: Match) -> Tensor:
    """Heads of a linear layer, [tokens, heads, size] by the perms (1, 2, 0) or (1, 0, 2), are made without moving it.

    A convolution for each head writes queries and keys where they belong, and keys then meet the TRANSPOSE that Vela
    puts before the second operand of a MATMUL. So do values, made of the layer's columns, which a convolution writes
    in as many cycles. Three heads of [197, 64], with their layer and product, take 85,000 cycles on Ethos-U85-256 in
    place of 103,000, and 210,000 of 249,000 where the scores are computed twice.
    """
    (tokens, heads, size), order = _axes(match.op)
    scaled = _linear(match.op.inputs[0], tokens)
    assert scaled is not None
    insert, keys = match.insert, order == [1, 2, 0]
    if not keys and _is_second_factor(match.op.output):
        columns = insert("TRANSPOSE", _layer(insert, scaled, tokens, slice(None)), perms=(0, 1, 3, 2))
        # In four axes it and the TRANSPOSE of Vela undo one another.
        result = insert("TRANSPOSE", insert.reshape(columns, 1, heads, size, tokens), perms=(0, 1, 3, 2))
    else:
        parts = [_layer(insert, scaled, tokens, slice(head * size, (head + 1) * size)) for head in range(heads)]
        result = insert.join(parts, axis=1)
        if keys:
            result = insert("TRANSPOSE", result, perms=(0, 1, 3, 2))
    return insert.reshape(result, *match.op.output.shape)


def _not_few_heads(match: Match) -> str | None:
    sizes, order = _axes(match.op)
    if order != [1, 0, 2] or sizes[0] > _FEW_HEADS:
        return "it does not put a few heads side by side"
    return None if match.op.output.size >= WORTH_ASKING else "it moves little"


def _no_keys(match: Match) -> str | None:
    return no_heads(match) or (None if _axes(match.op)[1] == [1, 2, 0] else "they are no keys")


def _as_columns(match: Match) -> Tensor:
    """Keys of a linear layer, [tokens, heads, size] by the perms (1, 2, 0), are the columns of one convolution.

    It reads the layer's image in the shape in which the convolutions for other heads do.
    """
    (tokens, _, _), _ = _axes(match.op)
    scaled = _linear(match.op.inputs[0], tokens)
    assert scaled is not None
    insert = match.insert
    columns = insert("TRANSPOSE", _layer(insert, scaled, tokens, slice(None)), perms=(0, 1, 3, 2))
    return insert.reshape(columns, *match.op.output.shape)


def _side_by_side(match: Match) -> Tensor:
    """A few heads [heads, tokens, size], by the perms (1, 0, 2), are copied to where they belong, one by one.

    Four heads of [256, 36] take 13,000 cycles fewer on Ethos-U85-256, two of [128, 64] 17,000.
    """
    (heads, tokens, size), _ = _axes(match.op)
    insert = match.insert
    x = insert.reshape(match.op.inputs[0], 1, heads, tokens, size)
    joined = insert.join([insert.slice(x, 1, head, 1) for head in range(heads)], axis=3)
    return insert.reshape(joined, *match.op.output.shape)


HEADS_OF_LAYERS = Choice("heads_of_layers", Pattern("TRANSPOSE"), _of_layers, no_heads, around=attention, together=True)
KEYS_AS_COLUMNS = Choice("keys_as_columns", Pattern("TRANSPOSE"), _as_columns, _no_keys, around=attention)
HEADS_SIDE_BY_SIDE = Choice("heads_side_by_side", Pattern("TRANSPOSE"), _side_by_side, _not_few_heads)
