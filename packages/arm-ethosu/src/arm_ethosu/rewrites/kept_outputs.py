"""Copies of tensors that others use as well: Vela would leave such an output out, or read such an operand wrong."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.operator_classes import VIEWS
from arm_tosa_core.tosa.pattern import ANY, Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage
from arm_tosa_core.tosa.walks import through

from ..operator_classes import TWO_OPERANDS
from .max_pool_copies import copied, copy_of
from .one_element_first import REPEATING

_THROUGH = frozenset(("CAST", "RESCALE", "RESHAPE"))
_RESCALES = frozenset(("CAST", "RESCALE"))
#: Operators that Vela transposes what they read for.
_TRANSPOSING = ("ARGMAX", "MATMUL", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "TRANSPOSE")


def _kept_output(graph: Graph, op: Op) -> bool:
    """An output that was moved goes through a pool before Vela moves it once more, alone for one reader."""
    lost = [x for x in map(partial(_lost, graph), op.inputs[: 2 if op.name == "MATMUL" else 1]) if x is not None]
    for x in lost:
        reader = x.uses[0]
        graph.set_input(reader, reader.inputs.index(x), copy_of(Inserter(graph, reader), x))
    return bool(lost)


def _lost(graph: Graph, x: Tensor) -> Tensor | None:
    """The output that ``x`` is made of, if Vela makes its move one with what ``x`` is read for."""
    while x.producer is not None and len(x.uses) == 1:
        if x in graph.outputs:
            return x if x.producer.name in VIEWS else None
        if x.producer.name not in _THROUGH:
            return None
        x = x.producer.inputs[0]
    return None


KEPT_OUTPUT = Rewrite("kept_output", Stage.LEGALIZE, _TRANSPOSING, _kept_output, _THROUGH)


def _in_own_shape(match: Match) -> str | None:
    return None if _is_one_of_views(match.tensor("operand")) else "it is read in its own shape"


def _is_one_of_views(x: Tensor) -> bool:
    """Whether the tensor has views of another shape, or is one of several views of a tensor."""
    source, path = x, [x]
    while source.producer is not None and source.producer.name in VIEWS:
        source = source.producer.inputs[0]
        path.append(source)
    views = [use for tensor in path for use in tensor.uses if use.name in VIEWS and use.output not in path]
    return any(map(partial(_shows_otherwise, x), views)) and not x.is_constant


def _shows_otherwise(x: Tensor, view: Op) -> bool:
    """Whether a view, or a view of that, has another shape than a tensor, or another order of elements."""
    if view.name != "RESHAPE" or view.output.shape != x.shape:
        return True
    return any(_shows_otherwise(x, use) for use in view.output.uses if use.name in VIEWS)


def _of_copies(name: str, op: str) -> Rewrite:
    reason = "An operand that is one of several views, or has views, is copied: Vela would read it in another's shape."
    pattern = Pattern(op, {ANY: Pattern(name="operand")})
    return copied(name, pattern, reason, _in_own_shape, operand="operand", copy=copy_of, through=VIEWS)


def _meets_itself(match: Match) -> str | None:
    """Whether an operator of two operands reads a tensor as it is first, and in another shape second."""
    x, below = through(match.op.inputs[0], _THROUGH), [match.op.output]
    while below:
        tensor = below.pop()
        for use in tensor.uses:
            if use.name in _THROUGH:
                below.append(use.output)
            elif use.name not in TWO_OPERANDS or use.inputs[1] is not tensor or use.inputs[0].shape == tensor.shape:
                continue
            elif through(use.inputs[0], _RESCALES) is x:
                return None
    return "no operator reads the same tensor in two shapes"


def _repeats_a_view(match: Match) -> str | None:
    op = match.op
    if any(x.shape == op.output.shape for x in op.inputs[:2]):
        return "Vela repeats one operand at most"
    views = map(_comes_of_views, op.inputs[:2])
    return None if any(views) else "operands are read in their own shapes"


def _comes_of_views(x: Tensor) -> bool:
    """Whether a tensor, or what it is rescaled from, is one of several views."""
    op = x.producer
    return _is_one_of_views(x) or (op is not None and op.name in _RESCALES and _comes_of_views(op.inputs[0]))


def _of_copied_views(match: Match) -> Mapping[int, Tensor]:
    """Where both operands are repeated, those that are one of several views are copied: Vela would repeat another."""
    insert = match.insert

    def own(x: Tensor) -> Tensor:
        if _is_one_of_views(x):
            return copy_of(insert, x)
        op = x.producer
        return insert.like(op, own(op.inputs[0]), *op.inputs[1:]) if op is not None and _comes_of_views(x) else x

    return {position: own(match.op.inputs[position]) for position in (0, 1)}


REPEATED_COPY = pattern_rewrite(
    "repeated_copy",
    Stage.LEGALIZE,
    Pattern("|".join(REPEATING)),
    _of_copied_views,
    _repeats_a_view,
    _RESCALES | set(VIEWS),
)
MEETS_COPY = copied(
    "other_shape_of_copy",
    Pattern("RESHAPE"),
    "What an operator reads in two shapes is copied for the second, because Vela would read both in one.",
    _meets_itself,
    copy=copy_of,
    through=_THROUGH | set(TWO_OPERANDS),
)
MINIMUM_OF_COPY = _of_copies("minimum_of_copy", "REDUCE_MIN")
SELECT_OF_COPIES = _of_copies("select_of_copies", "SELECT")
