"""The layout of what a layer makes, which the layer changes as it writes."""

from __future__ import annotations

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.operator_classes import CONVOLUTIONS
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.walks import through

_ANY_ORDER_OF_AXES = (
    *("ADD", "CAST", "CLAMP", "MAXIMUM", "MINIMUM", "MUL", "NEGATE", "RESCALE", "SUB", "TABLE"),
    *("REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM"),
)


def _between(match: Match) -> tuple[Tensor, list[Op]] | None:
    """The result of a layer, and the operators from it to a TRANSPOSE, in order; None: they have other operands or
    readers."""
    ops, sources, wanted = dict[Op, None](), dict[Tensor, None](), [match.op.inputs[0]]
    while wanted:
        op = (x := wanted.pop()).producer
        if op is None or op.name not in _ANY_ORDER_OF_AXES or op.attrs.get("per_channel"):
            sources[x] = None
        elif op not in ops:
            ops[op] = None
            wanted += [operand for operand in op.inputs if not operand.is_constant]
    (source, *others), readers = sources, {match.op, *ops}
    if others or any(op.output in match.graph.outputs or not readers.issuperset(op.output.uses) for op in ops):
        return None
    layer = through(source, ("RESHAPE", "RESCALE")).producer
    if not ops or layer is None or layer.name not in CONVOLUTIONS:
        return None
    return source, [op for op in match.graph.ops if op in ops]


def _check(match: Match) -> str | None:
    return None if _between(match) is not None else "what it moves is not computed from the result of one layer"


def _moved(match: Match) -> Tensor:
    """A TRANSPOSE comes before the softmax, for example, of a layer's result: it takes no step of its own then."""
    found = _between(match)
    assert found is not None
    (source, ops), perms = found, match.op.attrs["perms"]
    moved = {source: match.insert("TRANSPOSE", source, perms=perms)}

    def operand(x: Tensor) -> Tensor:
        if x.data is None or x.size == 1 or x.rank != len(perms):
            return moved.get(x, x)
        return match.graph.constant(x.data.transpose(perms), x.dtype)

    for op in ops:
        axes = {"axis": perms.index(op.attrs["axis"])} if "axis" in op.attrs else {}
        moved[op.output] = match.insert(op.name, *map(operand, op.inputs), **{**op.attrs, **axes})
    return moved[match.op.inputs[0]]


#: The log-softmax at the end of wav2letter.
LAYOUT_OF_RESULT = Choice(
    "layout_of_result",
    Pattern("TRANSPOSE"),
    _moved,
    _check,
    around=lambda graph, op: list(graph.ops),
)
