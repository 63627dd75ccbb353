"""What calibration has shown nothing but zeros of, such as a mask that masks nothing: other numbers would be lost."""

from __future__ import annotations

import warnings

from torch.fx import GraphModule, Node

from ..lowering.exported_program import is_constant, source_line
from ..lowering.node_facts import facts
from ..support.errors import AllZerosWarning
from .schemes.observers import MaskedHistogramObserver

#: As many names are said.
_SAID = 4


def warn_of_all_zeros(prepared: GraphModule) -> None:
    """Warns of inputs and results of which no sample has a number but 0; of those that others are made of alone.

    Args:
        prepared: calibrated.

    Warns:
        AllZerosWarning: names them, and says what to do.
    """
    zeros: set[Node] = set()
    first: list[Node] = []
    for node in prepared.graph.nodes:
        source = node.args[0] if node.op == "call_module" else None
        observer = getattr(prepared, str(node.target)) if isinstance(source, Node) else None
        if isinstance(source, Node) and isinstance(observer, MaskedHistogramObserver) and not is_constant(source):
            if observer.all_zeros and not zeros.intersection((source, *source.all_input_nodes)):
                first.append(source)
            zeros |= {source, node} if observer.all_zeros else set()
    if first:
        warnings.warn(_text(first), AllZerosWarning, stacklevel=3)


def _text(sources: list[Node]) -> str:
    said = ", ".join(map(_named, sources[:_SAID])) + (
        f" and {len(sources) - _SAID} more" if len(sources) > _SAID else ""
    )
    return (
        f"no sample has a number other than 0 of {said}: the quantized model takes every number for 0 there. Give "
        "samples with others, such as calls with a mask that masks something, or with a state that is not the first"
    )


def _named(source: Node) -> str:
    if source.op == "placeholder":
        return f"input {str(source.target)!r}"
    line = source_line(source)
    return f"{facts(source).whole or source.name!r}" + (f" ({line})" if line else "")
