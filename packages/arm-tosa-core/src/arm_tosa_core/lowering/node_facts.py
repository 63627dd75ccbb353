"""All that this project knows of a node beside what PyTorch notes: one table, under one key of the node's ``meta``.

Copies of a node have its facts, as they have its ``meta``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from torch.fx import GraphModule, Node

_KEY = "arm_facts"

#: The scheme of a node for which nobody has looked for one.
UNDECIDED: Final = object()


@dataclass(frozen=True)
class NodeFacts:
    """Facts of a node, or of the graph of a module.

    Args:
        written: of a buffer: the graph writes to it.
        symbolic: its value with symbolic sizes, where ``val`` has those of one size.
        whole: the name of the exported node that it is part of.
        scheme: its ``QuantizationConfig``, which the parts of a composite inherit; None: it stays in float.
        bounds: the least and the greatest of its values.
        wide: why its result has 16 bits; empty: nothing asks for it.
        far: far numbers were put into it, such as that of a mask, and somebody reads how far they are.
        state: the input that has its result in the next call.
        rescales: it hands a tensor on as it is, with a scale of its own.
        loop_body: of a graph: an operator runs it again and again.
    """

    written: bool = False
    symbolic: Any = None
    whole: str = ""
    scheme: Any = UNDECIDED
    bounds: tuple[float, float] | None = None
    wide: str = ""
    far: bool = False
    state: Node | None = None
    rescales: bool = False
    loop_body: bool = False


_NOTHING = NodeFacts()


def facts(of: Node | GraphModule) -> NodeFacts:
    """What is known of a node or a graph."""
    known: NodeFacts = of.meta.get(_KEY, _NOTHING)
    return known


def note(of: Node | GraphModule, **changes: Any) -> None:
    """Changes facts of a node or a graph: fields of ``NodeFacts``. Its copies keep theirs."""
    of.meta[_KEY] = replace(facts(of), **changes)
