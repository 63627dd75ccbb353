"""The stages of a compile, and the rewrites that run in two of them.

A rewrite names its stage, never a neighbour: rewrites of one stage must be right in any order (``rewrite_engine`` runs
them, in order of name, until none changes anything).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..support.errors import UsageError
from .graph import Graph
from .ir import Op, Origin, Tensor
from .table import require_operators


class Stage(IntEnum):
    """All that happens to a program, in this order: the only list of it. ``purpose`` says what for.

    ``exir.compilation.Compilation`` runs those of the program, ``lowering.pipeline`` those of a region's graph.
    """

    purpose: str

    def __new__(cls, purpose: str) -> Stage:
        stage = int.__new__(cls, len(cls.__members__) + 1)
        stage._value_, stage.purpose = int(stage), purpose
        return stage

    CANONICALIZE = "program: in-place operators and torch.cond become functional, those without a rule are decomposed"
    LOWER = "program: rules emit TOSA for what the target takes, and regions are numbered, one for each delegate"
    SEPARATE = "program: a region gets its own constants, only inputs that it reads, and int32 for int64"
    DECOMPOSE = "program: operators that stay on the CPU are decomposed as ExecuTorch does, or as its kernels need it"
    LAY_OUT = "program: what the CPU reads gets an order in memory that its kernels know"
    PARTITION = "region: its graph is cut out of the emitted TOSA"
    OPTIMIZE = "region: rewrites for every target, and those of one target that look for operators as rules emit them"
    LEGALIZE = "region: rewrites that one target needs, and those of OPTIMIZE again"
    VERIFY = "region: data flow, operator table, specification and the checks of the target"


#: The stages in which rewrites run.
REWRITING = (Stage.OPTIMIZE, Stage.LEGALIZE)


@dataclass(frozen=True)
class Rewrite:
    """A local rewrite of the TOSA graph. ``pattern.pattern_rewrite`` makes one of a pattern, a replacement and a check.

    Args:
        name: for logs and errors.
        stage: when it runs, one of ``REWRITING``.
        ops: the TOSA operators at which it is tried; empty means all.
        apply: looks at one operator and changes the graph around it; True if it did, or a few words that say why. It
            may insert operators before the one it looks at (``graph.insert_before``), replace results
            (``graph.replace``), and leave dead ones.
        through: the TOSA operators through which it looks at others, however many there are in a row. It is tried
            again where something changed within two operators, besides those of these names.
        rounds: a result may be off by a quantum after it. The conformance kit grants some composites of 16 bits more
            on targets that have such a rewrite.
    """

    name: str
    stage: Stage
    ops: tuple[str, ...]
    apply: Callable[[Graph, Op], bool | str]
    through: frozenset[str] = frozenset()
    rounds: bool = False

    def __post_init__(self) -> None:
        """Refuses a stage in which it would not run, and fields of another type.

        Raises:
            UsageError: no rewrites run in this stage, a field is of another type, or TOSA has no operator of a name.
        """
        if self.stage not in REWRITING:
            stages = " or ".join(f"Stage.{stage.name}" for stage in REWRITING)
            raise UsageError(f"rewrite {self.name!r}: no rewrite runs in {self.stage!r}; name {stages}")
        if isinstance(self.ops, str):
            raise UsageError(f'rewrite {self.name!r}: ops is a tuple of names such as ("CONV2D",), not {self.ops!r}')
        require_operators((*self.ops, *self.through), f"rewrite {self.name!r}")
        if not callable(self.apply):
            raise UsageError(f"rewrite {self.name!r}: apply is a function of graph and operator, not {self.apply!r}")

    @property
    def reason(self) -> str:
        """Why it applies, unless it says more itself: the first line of its function's docstring."""
        return (inspect.getdoc(self.apply) or self.name).partition("\n")[0]


def rewrite_named(name: str) -> Rewrite:
    """The rewrite that ``module:NAME`` stands for.

    Raises:
        UsageError: the module cannot be imported, or has no rewrite of this name.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"rewrite {name!r}: {error}; a rewrite is named module:NAME, and Python finds the module"
        ) from error
    if not isinstance(found, Rewrite):
        raise UsageError(f"rewrite {name!r} is of type {type(found).__name__}, not a Rewrite")
    return found


class Inserter:
    """Puts operators before one, each behind those that it put there already.

    Args:
        before: the operator before which they go.
        origin: where they come from; that of ``before`` if none is given.
    """

    def __init__(self, graph: Graph, before: Op, origin: Origin | None = None) -> None:
        self.graph, self.before, self.origin = graph, before, origin

    def __call__(self, name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
        """The result of an operator that is inserted."""
        return self.graph.insert_before(self.before, name, inputs, attrs, self.origin).output

    def like(self, op: Op, *inputs: Tensor, **attrs: Any) -> Tensor:
        """The result of an operator like another one, with its origin, on other operands and with other attributes."""
        return self.graph.insert_before(self.before, op.name, inputs, {**op.attrs, **attrs}, op.origin).output

    def reshape(self, x: Tensor, *shape: int) -> Tensor:
        """RESHAPE of what has another shape."""
        return x if x.shape == shape else self("RESHAPE", x, self.graph.shape(shape))
