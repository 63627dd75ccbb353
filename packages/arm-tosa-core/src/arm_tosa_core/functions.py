"""Functions of one tensor that several operators compute, as ``x / (1 + abs(x))``: one table computes all of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.fx import Graph, Node

from .program import is_dequantize
from .registry import Q, Rule, canonical, find, overload

_POINTWISE = frozenset({Q.TABLE, Q.BOUNDS, Q.ARITHMETIC, Q.PRODUCT})


@dataclass(frozen=True)
class Function:
    """Operators on one tensor whose results nobody else reads.

    Args:
        source: the tensor that they read; in a quantized program the integers.
        parts: the operators in their order, but for the last; dequantize nodes are among them.
        last: the one that joins their results.
    """

    source: Node
    parts: tuple[Node, ...]
    last: Node

    @property
    def readers(self) -> list[Node]:
        """The operators that read the source itself."""
        return [n for n in (*self.parts, self.last) if self.source in n.all_input_nodes]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The function at these numbers (float32, any shape)."""
        made = {self.source: x}
        with torch.no_grad():
            for node in (*self.parts, self.last):
                if is_dequantize(node):
                    made[node] = x
                    continue
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), made.__getitem__)
                made[node] = overload(node.target)(*args, **kwargs)
        return made[self.last]


@dataclass(frozen=True)
class Part:
    """The value of a node that is not computed by itself, but with the function that ends in ``last``."""

    last: Node


def functions_of(graph: Graph) -> dict[Node, Function]:
    """The function that each node is a part, or the last, of."""
    return {node: function for function in find_functions(graph) for node in (*function.parts, function.last)}


def find_functions(graph: Graph) -> list[Function]:
    """The functions of one tensor in a graph, the largest ones, that join several results, one of a table at least.

    A straight line of operators is none: each is as good by itself. Joined, an error of one result is not one of the
    tensor that it is joined with.
    """
    before: dict[Node, Node] = {}  # the last node through which all goes that a node is computed from
    depth: dict[Node, int] = {}

    def meeting(a: Node | None, b: Node | None) -> Node | None:
        while a is not None and b is not None and a is not b:
            if depth.get(a, 0) < depth.get(b, 0):
                a, b = b, a
            a = before.get(a)
        return a if b is not None else None

    for node in graph.nodes:
        if not _is_part(node):
            continue
        first, *others = node.all_input_nodes
        common: Node | None = first
        for other in others:
            common = meeting(common, other)
        if common is not None:
            before[node], depth[node] = common, depth.get(common, 0) + 1
    found: list[Function] = []
    taken: set[Node] = set()
    for node in reversed(graph.nodes):
        if node in before and node not in taken and len(node.all_input_nodes) > 1:
            function = _function(before[node], node)
            if function is not None:
                found.append(function)
                taken.update(function.parts)
    return found[::-1]


def _function(source: Node, last: Node) -> Function | None:
    inside: set[Node] = set()
    waiting = list(last.all_input_nodes)
    while waiting:
        node = waiting.pop()
        if node is not source and node not in inside:
            inside.add(node)
            waiting += node.all_input_nodes
    own = [n for n in inside if not is_dequantize(n)]
    if any(user not in inside and user is not last for n in own for user in n.users):
        return None
    rules = [_rule(n) for n in own]
    if not any(rule is not None and rule.quant is Q.TABLE for rule in rules):
        return None  # arithmetic is exact on integers
    return Function(source, tuple(n for n in last.graph.nodes if n in inside), last)


def _rule(node: Node) -> Rule | None:
    return find(canonical(node.target)) if node.op == "call_function" else None


def _is_part(node: Node) -> bool:
    """Whether a node computes each number of its result from the ones at the same place, and from nothing else."""
    if is_dequantize(node):
        return len(node.all_input_nodes) == 1
    rule = _rule(node)
    if rule is None or rule.quant not in _POINTWISE or overload(node.target)._schema.is_mutable:
        return False
    shape = _float_shape(node)
    others = [a for a in (*node.args, *node.kwargs.values()) if not isinstance(a, Node)]
    numbers = all(a is None or isinstance(a, (int, float, bool, str)) for a in others)
    inputs = node.all_input_nodes
    return shape is not None and numbers and bool(inputs) and all(_float_shape(n) == shape for n in inputs)


def _float_shape(node: Node) -> torch.Size | None:
    meta = node.meta.get("val")
    return meta.shape if isinstance(meta, torch.Tensor) and meta.dtype == torch.float32 else None
