"""What cannot be traced, for it depends on a number that the program computes, is refused with its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch import GuardOnDataDependentSymNode
from ..lowering.exported_program import source_line
from ..support.errors import UsageError

_NODE = re.compile(r"While executing %(\w+)")


@contextmanager
def refused_if_unknown(programs: Iterable[ExportedProgram]) -> Iterator[None]:
    """Around PyTorch's and ExecuTorch's traces of these programs.

    Raises:
        UsageError: one of them had to know a number that only the program itself computes.
    """
    try:
        yield
    except GuardOnDataDependentSymNode as error:
        found = _NODE.search(str(error))
        nodes = [node for program in programs for node in program.graph.nodes]
        known = [node for node in nodes if found and node.name == found[1]] or list(filter(_reads_number, nodes))
        name = known[0].name if known else "an operator"
        line = source_line(known[0]) if known else ""
        raise UsageError(
            f"{name}{line and f' at {line}'} has a place or a size that the program computes, and PyTorch cannot trace "
            "it without the number. Take the elements with torch.index_select, "
            "torch.gather or torch.where, whose indices and conditions are tensors"
        ) from error


def _reads_number(node: Node) -> bool:
    """Whether a tensor is made with a number that the program computes."""
    numbers = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.SymInt)]
    return bool(numbers) and isinstance(node.meta.get("val"), torch.Tensor)
