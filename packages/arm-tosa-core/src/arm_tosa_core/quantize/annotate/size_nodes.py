"""Sizes that vary, as nodes of a graph: a module cannot run a symbol that stands in an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node, Proxy
from torch.fx.proxy import GraphAppendingTracer

from ...compat.torch_sizes import computed_size, linear_form, size_symbol
from ...support.errors import Rejected

_SIZES = (torch.SymInt, torch.SymFloat, torch.SymBool)


class SizeNodes:
    """Makes nodes that compute symbolic sizes from the inputs of a module, behind its inputs."""

    def __init__(self, module: GraphModule) -> None:
        self._graph = module.graph
        inputs = self._graph.find_nodes(op="placeholder")
        self._last = inputs[-1] if inputs else None
        self._tracer = GraphAppendingTracer(self._graph)
        self._made: dict[str, Any] = {}

    def known_or(self, otherwise: Callable[[Node], Any]) -> Callable[[Node], Any]:
        """Gives the size that a node computes, whose node ``of`` then gives; of any other node what is said."""

        def size(node: Node) -> Any:
            value = node.meta.get("val")
            if not isinstance(value, _SIZES):
                return otherwise(node)
            self._made.setdefault(str(value.node.expr), node)
            return value

        return size

    def of(self, value: Any) -> Any:
        """The node of a symbolic size; anything else as it is.

        Raises:
            Rejected: it is no size of an input.
        """
        if not isinstance(value, _SIZES):
            return value
        key = str(value.node.expr)
        if key not in self._made:
            self._made[key] = self._node(value)
        return self._made[key]

    def _node(self, value: Any) -> Any:
        if self._last is None:
            raise Rejected(f"the size {value} is of no input")
        behind = self._last.next
        with self._graph.inserting_before(behind):
            try:
                size = computed_size(value, self._symbol)
            except ValueError as missing:
                raise Rejected(f"the size {value} depends on data") from missing
        while (new := self._last.next) is not behind:
            args: Any = torch.fx.map_arg(new.args, lambda n: n.meta["val"])
            new.meta["val"] = new.target(*args)
            self._last = new
        return size.node if isinstance(size, Proxy) else size

    def _symbol(self, name: str) -> Any:
        """What computes a symbol from the size of an input, that has it by itself or in a multiple of it."""
        candidates = []
        for node in self._graph.find_nodes(op="placeholder"):
            for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ())):
                if not isinstance(size, int) and size_symbol(size) == name:
                    candidates.append((*linear_form(size), node, axis))
        factor, offset, node, axis = min(candidates, key=lambda form: form[:2] != (1, 0))
        proxy: Any = Proxy(self._graph.call_function(torch.ops.aten.sym_size.int, (node, axis)), self._tracer)
        return proxy if (factor, offset) == (1, 0) else (proxy - offset) // factor
