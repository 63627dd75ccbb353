"""The stages of compilation, and the rewrites that run in them.

``Stage`` is the only ordered list in the project. A rewrite names its stage, never a neighbour: rewrites of one
stage must be right in any order (they run in order of name until none changes anything).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .graph import Graph
    from .ir import Op


class Stage(IntEnum):
    """Everything that happens to a model, in order."""

    CANONICALIZE = 1  # ATen: guards removed, names and overloads brought to one form
    ANNOTATE = 2  # ATen: composites decomposed, observers placed
    PARTITION = 3  # what the target takes: a dry run of the rules
    FOLD_QDQ = 4  # quantize and dequantize become properties of values
    LOWER = 5  # the rules emit TOSA
    OPTIMIZE = 6  # TOSA to TOSA, for every target
    LEGALIZE = 7  # TOSA to TOSA, what one target needs
    VERIFY = 8  # operator table, specification, target checks


@dataclass(frozen=True)
class Rewrite:
    """A local rewrite of the TOSA graph.

    Args:
        name: for logs and errors.
        stage: when it runs.
        ops: the TOSA operators at which it is tried; empty means all.
        apply: looks at one operator and changes the graph around it; True if it did. It may insert operators before
            the one it looks at (``graph.insert``), replace results (``graph.replace``), leave dead ones for the sweep.
    """

    name: str
    stage: Stage
    ops: tuple[str, ...]
    apply: Callable[[Graph, Op], bool]
