"""A lowering as those see it that lower single nodes for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.fx import Node

if TYPE_CHECKING:
    from ..plugin.target import Target
    from ..tosa.graph import Graph
    from .builder import Builder
    from .rule_set import RuleSet


class NodeLowering(Protocol):
    """:class:`~arm_tosa_core.lowering.lowering.Lowering`, which has these attributes and methods."""

    target: Target
    graph: Graph
    builder: Builder
    rules: RuleSet
    constants: dict[str, torch.Tensor]
    values: dict[Node, Any]

    def lower(self, node: Node) -> Any:
        """Finds the value of a node whose arguments have values already."""

    def inside(self, name: str) -> NodeLowering:
        """For a graph within an operator."""
