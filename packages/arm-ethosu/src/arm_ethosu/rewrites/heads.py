"""Heads of attention on Ethos-U85, where a convolution writes its result transposed in no more cycles."""

from __future__ import annotations

from math import prod

from arm_tosa_core.ir import Graph, Op, Tensor
from arm_tosa_core.rewrite import Rewrite, Stage

from .chain import Chain

#: Columns for each row of a matrix from which on Vela transposes it slowly.
LONG = 10


def _is_pointwise(op: Op) -> bool:
    return op.inputs[1].shape[1:3] == (1, 1) and op.attrs["stride"] == (1, 1) and not any(op.attrs["pad"])


def _linear(x: Tensor, rows: int) -> Op | None:
    """The RESCALE of a 1x1 convolution over so many positions, if ``x`` is a view of its result and nothing else is."""
    while x.producer is not None and len(x.uses) == 1:
        if x.producer.name == "RESCALE":
            made = x.producer.inputs[0].producer
            pointwise = made is not None and made.name == "CONV2D" and _is_pointwise(made)
            return x.producer if pointwise and prod(x.shape[:-1]) == rows else None
        if x.producer.name != "RESHAPE":
            return None
        x = x.producer.inputs[0]
    return None


def _is_second_factor(x: Tensor) -> bool:
    """Whether ``x`` is nothing but the second operand of a product, of which Vela transposes the last two axes."""
    while len(x.uses) == 1 and x.uses[0].name == "RESHAPE":
        x = x.uses[0].output
    return len(x.uses) == 1 and x.uses[0].name == "MATMUL" and x.uses[0].inputs[1] is x


def _heads_of_columns(graph: Graph, op: Op) -> bool:
    """Heads of a linear layer, [tokens, heads, size] by the perms (1, 2, 0) or (1, 0, 2), are made of its columns.

    Transposed by the convolution, these are [heads, size, tokens]. That is all for keys; values meet the TRANSPOSE that
    Vela puts before the second operand of a MATMUL, and queries take one of matrices. In DeiT-tiny the three take
    40,000 cycles on Ethos-U85-256 in place of 101,000.
    """
    x, perms = op.inputs[0], op.attrs["perms"]
    axes = [axis for axis in perms if x.shape[axis] > 1]
    if len(axes) != 3:
        return False
    tokens, heads, size = (x.shape[axis] for axis in sorted(axes))
    order = [sorted(axes).index(axis) for axis in axes]
    scaled = _linear(x, tokens)
    if order not in ([1, 2, 0], [1, 0, 2]) or scaled is None:
        return False
    second = _is_second_factor(op.output)
    if tokens > LONG * size and not (second and order == [1, 0, 2]):
        return False
    chain = Chain(graph, op)
    layer = scaled.inputs[0].producer
    assert layer is not None
    made = chain.reshape(layer.inputs[0], 1, 1, tokens, layer.inputs[0].shape[-1])
    made = chain.insert("CONV2D", made, *layer.inputs[1:], **layer.attrs)
    made = chain.insert("RESCALE", made, *scaled.inputs[1:], **scaled.attrs)
    made = chain.insert("TRANSPOSE", made, perms=(0, 1, 3, 2))
    if order == [1, 0, 2] and second:  # in this form the two undo one another
        made = chain.insert("TRANSPOSE", chain.reshape(made, 1, heads, size, tokens), perms=(0, 1, 3, 2))
    elif order == [1, 0, 2]:
        made = chain.insert("TRANSPOSE", chain.reshape(made, heads, size, tokens), perms=(0, 2, 1))
    graph.replace(op.output, chain.reshape(made, *op.output.shape))
    return True


HEADS_OF_COLUMNS = Rewrite("heads_of_columns", Stage.LEGALIZE, ("TRANSPOSE",), _heads_of_columns)
