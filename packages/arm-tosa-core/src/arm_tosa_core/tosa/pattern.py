"""Rewrites that are declared: the operators that they look for, a check of what was found, and what replaces it.

def _merged(match: Match) -> Tensor:
    \"\"\"A RESHAPE of a RESHAPE is one.\"\"\"
    return match.insert("RESHAPE", match["inner"].inputs[0], match.op.inputs[1])

MERGE_RESHAPES = pattern_rewrite(
    "merge_reshapes", Stage.OPTIMIZE, Pattern("RESHAPE", {0: Pattern("RESHAPE", name="inner")}), _merged
)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .graph import Graph
from .ir import Op, Tensor
from .rewrite import Inserter, Rewrite, Stage


@dataclass(frozen=True)
class Pattern:
    """An operator, told by its name and by the operators that make its operands.

    Args:
        ops: names of TOSA operators, one of which it is, with ``|`` between them.
        operands: of some operands, by position, what must make them.
        name: what it is called in ``Match``.
        alone: nobody but the operator that it is an operand of reads its result; nor is that an output of the graph.
    """

    ops: str
    operands: Mapping[int, Pattern] = field(default_factory=dict)
    name: str = ""
    alone: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.ops.split("|"))

    def find(self, graph: Graph, op: Op, found: dict[str, Op]) -> bool:
        """Whether an operator is such a one; adds those that have a name to ``found``."""
        if op.name not in self.names or max(self.operands, default=-1) >= len(op.inputs):
            return False
        if self.name:
            found[self.name] = op
        for position, pattern in self.operands.items():
            tensor = op.inputs[position]
            if tensor.producer is None or not pattern.find(graph, tensor.producer, found):
                return False
            if pattern.alone and (len(tensor.uses) > 1 or tensor in graph.outputs):
                return False
        return True


class Match:
    """What a pattern found: ``op`` is the operator of the pattern itself, ``match[name]`` another that has a name."""

    def __init__(self, graph: Graph, op: Op, found: Mapping[str, Op]) -> None:
        self.graph, self.op, self._found = graph, op, found
        self.insert = Inserter(graph, op)

    def __getitem__(self, name: str) -> Op:
        return self._found[name]

    def before(self, name: str) -> Inserter:
        """Inserts before an operator that has a name, in place of before ``op``; the origin is that of ``op``."""
        return Inserter(self.graph, self._found[name], self.op.origin)


#: What takes the place of an operator's result; or of its operands, by position.
Replacement = Callable[[Match], "Tensor | Mapping[int, Tensor]"]


def pattern_rewrite(
    name: str,
    stage: Stage,
    pattern: Pattern,
    replacement: Replacement,
    check: Callable[[Match], str | None] | None = None,
    through: frozenset[str] = frozenset(),
) -> Rewrite:
    """The rewrite that replaces what a pattern finds.

    Args:
        name, stage, through: as of ``Rewrite``.
        pattern: what is looked for; the rewrite is tried at each operator of its names.
        replacement: makes what takes the place of ``match.op.output``; or, where it returns a mapping, of operands of
            ``match.op``. The first line of its docstring is why the rewrite applies.
        check: None if the match is to be replaced, else a few words that say why not.
    """

    def apply(graph: Graph, op: Op) -> bool:
        found: dict[str, Op] = {}
        if not pattern.find(graph, op, found):
            return False
        match = Match(graph, op, found)
        if check is not None and check(match) is not None:
            return False
        new = replacement(match)
        if isinstance(new, Tensor):
            graph.replace(op.output, new)
        else:
            for position, tensor in new.items():
                graph.set_input(op, position, tensor)
        return True

    apply.__doc__ = replacement.__doc__
    return Rewrite(name, stage, pattern.names, apply, through)
