"""Rewrites that are declared: the operators that they look for, what replaces them, and a check of what was found.

def _merged(match: Match) -> Tensor:
    \"\"\"A RESHAPE of a RESHAPE is one.\"\"\"
    return match.insert("RESHAPE", match["inner"].inputs[0], match.op.inputs[1])

MERGE_RESHAPES = pattern_rewrite(
    "merge_reshapes", Stage.OPTIMIZE, Pattern("RESHAPE", {0: Pattern("RESHAPE", name="inner")}), _merged
)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from ..support.errors import LoweringError, UsageError
from .graph import Graph
from .ir import DType, Op, Tensor
from .rewrite import Inserter, Rewrite, Stage
from .table import OPERATORS, require_operators
from .walks import is_alone

#: Among the positions of ``Pattern.operands``: whichever operand.
ANY = -1


class Found(NamedTuple):
    """What a pattern stands for in a graph.

    Args:
        op: the operator that makes it; None: it is a constant, or an input of the graph.
        tensor: the result.
        position: which operand leads to it.
        between: the operators of ``Pattern.through`` on the way, the nearest to the reader first.
    """

    op: Op | None
    tensor: Tensor
    position: int
    between: tuple[Op, ...] = ()


#: What the patterns with names stand for.
Way = Mapping[str, Found]


@dataclass(frozen=True)
class Pattern:
    """A tensor, told by its type and by the operator that makes it.

    Args:
        ops: names of TOSA operators, one of which makes it, with ``|`` between them; ``*``: any
            operator; empty: any tensor.
        operands: patterns of some of the operator's operands, by position; at ``ANY``, of one of them.
        name: what it is called in ``Match``.
        alone: nobody but the operator that it is an operand of reads it, or reads what ``through`` leads to; nor is
            that an output of the graph.
        dtype: its data type, or several of which it has one.
        attrs: attributes that the operator has, with these values.
        where: what else is true of the operator.
        constant: it is a constant.
        commutes: the first two operands may change places.
        through: names of operators that may lie between, however many in a row, each with the next one as its first
            operand. They are not what ``ops`` names.
    """

    ops: str = ""
    operands: Mapping[int, Pattern | AnyOf] = field(default_factory=dict)
    name: str = ""
    alone: bool = False
    dtype: DType | Collection[DType] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    where: Callable[[Op], bool] | None = None
    constant: bool = False
    commutes: bool = False
    through: Collection[str] = ()

    def __post_init__(self) -> None:
        """Refuses what no graph has.

        Raises:
            UsageError: TOSA has no operator of a name, or none of the operators has an attribute.
        """
        require_operators((*self.names, *self.through), "Pattern")
        known = frozenset[str]().union(*(OPERATORS[name].attribute_names for name in self.names or OPERATORS))
        for name in self.attrs:
            if name not in known:
                raise UsageError(f"Pattern: {self.ops.replace('*', '') or 'TOSA'} has no attribute {name!r}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the operators; none: any."""
        return tuple(self.ops.split("|")) if self.ops not in ("", "*") else ()

    @cached_property
    def looks_through(self) -> frozenset[str]:
        """The operators that may lie between any of its parts."""
        return frozenset(self.through).union(*(each.looks_through for each in self.operands.values()))

    @cached_property
    def _dtypes(self) -> tuple[DType, ...]:
        return (self.dtype,) if isinstance(self.dtype, DType) else tuple(self.dtype)

    @cached_property
    def _glance(self) -> list[tuple[int, Collection[str], tuple[DType, ...]]]:
        """Of operands, by position: who may make them, and their types; empty: any. Most tries end with it."""
        if self.commutes:
            return []
        return [
            (at, {*each.names, *each.through} if each.names else (), () if each.through else each._dtypes)
            for at, each in self.operands.items()
            if at != ANY and isinstance(each, Pattern)
        ]

    @cached_property
    def _orders(self) -> list[list[tuple[int, Pattern | AnyOf]]]:
        """The operands in each order that they may have."""
        orders = [list(self.operands.items())]
        if self.commutes:
            orders.append([(1 - at if at in (0, 1) else at, each) for at, each in self.operands.items()])
        return orders

    def ways(self, graph: Graph, op: Op) -> Iterable[Way]:
        """Each way in which an operator is such a one."""
        if self._dtypes and op.outputs[0].dtype not in self._dtypes:
            return ()
        for position, names, dtypes in self._glance:
            if position >= len(op.inputs):
                return ()
            tensor = op.inputs[position]
            if names and (tensor.producer is None or tensor.producer.name not in names):
                return ()
            if dtypes and tensor.dtype not in dtypes:
                return ()
        return self._ways(graph, Found(op, op.outputs[0], 0), {})

    def ways_of_operand(self, graph: Graph, reader: Op, position: int, way: Way) -> Iterable[Way]:
        """Each way in which an operand of an operator is such a one, with what is found already."""
        if position >= len(reader.inputs):
            return ()
        tensor, between = reader.inputs[position], tuple[Op, ...]()
        while not self.alone or is_alone(graph, tensor):
            op = tensor.producer
            if op is None or op.name not in self.through:
                return self._ways(graph, Found(op, tensor, position, between), way)
            between, tensor = (*between, op), op.inputs[0]
        return ()

    def _ways(self, graph: Graph, found: Found, way: Way) -> Iterable[Way]:
        """No generator where there is one way or none: most tries end here."""
        op = found.op
        if op is None:
            fits = not (self.ops or self.operands or self.attrs or self.where)
        else:
            fits = not self.names or op.name in self.names
        if not fits or (self._dtypes and found.tensor.dtype not in self._dtypes):
            return ()
        if self.constant and not found.tensor.is_constant:
            return ()
        if op is not None:
            if self.attrs and any(op.attrs.get(name) != value for name, value in self.attrs.items()):
                return ()
            if self.where is not None and not self.where(op):
                return ()
        if self.name:
            way = {**way, self.name: found}
        if op is None or not self.operands:
            return (way,)
        return chain.from_iterable(_ways_of_operands(graph, op, operands, way) for operands in self._orders)


@dataclass(frozen=True)
class AnyOf:
    """A tensor that one of several patterns tells: the first one, if several do."""

    patterns: Sequence[Pattern]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the operators."""
        return tuple(dict.fromkeys(name for pattern in self.patterns for name in pattern.names))

    @cached_property
    def looks_through(self) -> frozenset[str]:
        """The operators that may lie between any of its parts."""
        return frozenset[str]().union(*(pattern.looks_through for pattern in self.patterns))

    def ways(self, graph: Graph, op: Op) -> Iterable[Way]:
        """Each way in which an operator is such a one."""
        return chain.from_iterable(pattern.ways(graph, op) for pattern in self.patterns)

    def ways_of_operand(self, graph: Graph, reader: Op, position: int, way: Way) -> Iterable[Way]:
        """Each way in which an operand of an operator is such a one, with what is found already."""
        return chain.from_iterable(each.ways_of_operand(graph, reader, position, way) for each in self.patterns)


def _ways_of_operands(graph: Graph, op: Op, operands: Sequence[tuple[int, Pattern | AnyOf]], way: Way) -> Iterable[Way]:
    (position, pattern), *others = operands
    places = range(len(op.inputs)) if position == ANY else (position,)
    ways = chain.from_iterable(pattern.ways_of_operand(graph, op, at, way) for at in places)
    return chain.from_iterable(_ways_of_operands(graph, op, others, more) for more in ways) if others else ways


class Match:
    """What a pattern found: ``op`` is the operator of the pattern itself, ``match[name]`` another that has a name."""

    def __init__(self, graph: Graph, op: Op, way: Way) -> None:
        self.graph, self.op, self._way = graph, op, way
        self.insert = Inserter(graph, op)

    def __getitem__(self, name: str) -> Op:
        op = self._way[name].op
        assert op is not None, f"{name} is no operator"
        return op

    def tensor(self, name: str) -> Tensor:
        """The tensor of a pattern that has a name, before what ``through`` leads to."""
        return self._way[name].tensor

    def position(self, name: str) -> int:
        """Which operand of the operator that reads it a pattern with a name was found at."""
        return self._way[name].position

    def between(self, name: str) -> tuple[Op, ...]:
        """The operators of ``through`` before a pattern with a name, the nearest to the reader first."""
        return self._way[name].between

    def before(self, name: str) -> Inserter:
        """Inserts before an operator that has a name, in place of before ``op``; the origin is that of ``op``."""
        return Inserter(self.graph, self[name], self.op.origin)


#: What takes the place of an operator's result; or of its operands, by position.
Replacement = Callable[[Match], "Tensor | Mapping[int, Tensor]"]


def pattern_rewrite(
    name: str,
    stage: Stage,
    pattern: Pattern | AnyOf,
    replacement: Replacement,
    check: Callable[[Match], str | None] | None = None,
    through: frozenset[str] = frozenset(),
    rounds: bool = False,
) -> Rewrite:
    """The rewrite that replaces what a pattern finds.

    Args:
        name, stage, rounds: as of ``Rewrite``.
        pattern: what is looked for; the rewrite is tried at each operator of its names.
        replacement: makes what takes the place of ``match.op.output``; or, where it returns a mapping, of operands of
            ``match.op``. The first line of its docstring is why the rewrite applies.
        check: None if the match is to be replaced, else a few words that say why not. Then the next way is tried in
            which the pattern is found.
        through: as of ``Rewrite``, besides those of the pattern.

    Raises:
        UsageError: an argument is of another type.
    """
    if not isinstance(pattern, Pattern | AnyOf):
        raise UsageError(f"rewrite {name!r}: the pattern is a Pattern or AnyOf, not {pattern!r}")
    if not callable(replacement) or not (check is None or callable(check)):
        raise UsageError(f"rewrite {name!r}: after the pattern come two functions, the replacement and then the check")

    def apply(graph: Graph, op: Op) -> bool:
        for way in pattern.ways(graph, op):
            match = Match(graph, op, way)
            if check is not None and check(match) is not None:
                continue
            new = replacement(match)
            if isinstance(new, Tensor):
                if (new.dtype, new.shape) != (op.output.dtype, op.output.shape):
                    raise LoweringError(f"its replacement is {new!r} in place of {op.output!r}")
                graph.replace(op.output, new)
            elif not isinstance(new, Mapping):
                raise LoweringError(
                    f"its replacement returned {type(new).__name__}, not a Tensor or a mapping of positions to Tensors"
                )
            else:
                for position, tensor in new.items():
                    graph.set_input(op, position, tensor)
            return True
        return False

    apply.__doc__ = replacement.__doc__
    return Rewrite(name, stage, pattern.names, apply, through | pattern.looks_through, rounds)
