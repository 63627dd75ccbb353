"""Functions of one tensor that several operators compute, as ``x / (1 + abs(x))``: one table computes all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch.fx import Graph, Node

from ..compat.executorch import aten_overload
from ..compat.torch import is_mutable
from ..compat.torch_sizes import same_shape
from .exported_program import is_dequantize
from .operator_names import is_cast
from .rule import Q
from .rule_set import RuleSet

#: Constants of one element, which ExecuTorch makes of the numbers in a program.
Numbers = Mapping[Node, torch.Tensor]
_NO_CONSTANTS: Mapping[str, torch.Tensor] = MappingProxyType({})

_POINTWISE = frozenset({Q.TABLE, Q.BOUNDS, Q.ARITHMETIC, Q.PRODUCT})


@dataclass(frozen=True)
class Function:
    """Operators on one tensor whose results nobody else reads.

    Args:
        source: the tensor that they read; in a quantized program the integers.
        parts: the operators in their order, but for the last; dequantize nodes are among them.
        last: the one that joins their results.
        numbers: what they read beside it.
    """

    source: Node
    parts: tuple[Node, ...]
    last: Node
    numbers: Numbers = field(compare=False)

    @property
    def readers(self) -> list[Node]:
        """The operators that read the source itself."""
        return [n for n in (*self.parts, self.last) if self.source in n.all_input_nodes]

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The function at these numbers (float32, any shape)."""
        made = {self.source: x, **self.numbers}
        with torch.no_grad():
            for node in (*self.parts, self.last):
                if is_dequantize(node):
                    made[node] = x
                    continue
                args, kwargs = torch.fx.map_arg((node.args, node.kwargs), made.__getitem__)
                made[node] = aten_overload(node.target)(*args, **kwargs)
        return made[self.last]


@dataclass(frozen=True)
class Part:
    """The value of a node that is not computed by itself, but with the function that ends in the node ``last``."""

    last: str


def _number(node: Node, constants: Mapping[str, torch.Tensor], found: Numbers) -> torch.Tensor | None:
    """The constant of rank 0 that a node is, or is cast from; None if it is none."""
    if node.op == "placeholder":
        constant = constants.get(node.name)
        return constant if constant is not None and constant.dim() == 0 else None
    if node.op == "call_function" and is_cast(node.target):
        given = found.get(node.all_input_nodes[0]) if node.all_input_nodes else None
        return None if given is None else given.to(node.meta["val"].dtype)
    return None


def functions_of(graph: Graph, rules: RuleSet, constants: Mapping[str, torch.Tensor]) -> dict[Node, Function]:
    """The function that each node is a part, or the last, of."""
    functions = find_functions(graph, rules, constants)
    return {node: function for function in functions for node in (*function.parts, function.last)}


def find_functions(
    graph: Graph, rules: RuleSet, constants: Mapping[str, torch.Tensor] = _NO_CONSTANTS
) -> list[Function]:
    """The functions of one tensor in a graph, the largest ones, that join several results, one of a table at least.

    Args:
        constants: of the program, by the names of their placeholders: those of rank 0 are numbers.

    A straight line of operators is none: each is as good by itself. Joined, an error of one result is not one of the
    tensor that it is joined with.
    """
    numbers: dict[Node, torch.Tensor] = {}
    before: dict[Node, Node] = {}  # the last node through which all goes that a node is computed from; in their order
    depth: dict[Node, int] = {}

    def meeting(a: Node | None, b: Node | None) -> Node | None:
        while a is not None and b is not None and a is not b:
            if depth.get(a, 0) < depth.get(b, 0):
                a, b = b, a
            a = before.get(a)
        return a if b is not None else None

    for node in graph.nodes:
        if (number := _number(node, constants, numbers)) is not None:
            numbers[node] = number
        if not _is_part(node, rules, numbers):
            continue
        first, *others = _inputs(node, numbers)
        common: Node | None = first
        for other in others:
            common = meeting(common, other)
        if common is not None:
            before[node], depth[node] = common, depth.get(common, 0) + 1
    place = {node: i for i, node in enumerate(before)}
    found: list[Function] = []
    taken: set[Node] = set()
    for node in reversed(before):
        if node not in taken and len(_inputs(node, numbers)) > 1:
            function = _function(before[node], node, rules, numbers, place)
            if function is not None:
                found.append(function)
                taken.update(function.parts)
    return found[::-1]


def _inputs(node: Node, numbers: Numbers) -> list[Node]:
    return [n for n in node.all_input_nodes if n not in numbers]


def _function(source: Node, last: Node, rules: RuleSet, numbers: Numbers, place: Mapping[Node, int]) -> Function | None:
    inside: set[Node] = set()
    waiting = _inputs(last, numbers)
    while waiting:
        node = waiting.pop()
        if node is not source and node not in inside:
            inside.add(node)
            waiting += _inputs(node, numbers)
    own = [n for n in inside if not is_dequantize(n)]
    if any(user not in inside and user is not last for n in own for user in n.users):
        return None
    if not any((rule := rules.of_node(n)) is not None and rule.quant is Q.TABLE for n in own):
        return None  # arithmetic is exact on integers
    return Function(source, tuple(sorted(inside, key=place.__getitem__)), last, numbers)


def _is_part(node: Node, rules: RuleSet, numbers: Numbers) -> bool:
    """Whether a node computes each number of its result from the ones at the same place, and from nothing else."""
    if is_dequantize(node):
        return len(node.all_input_nodes) == len(_inputs(node, numbers)) == 1
    rule = rules.of_node(node)
    if rule is None or rule.quant not in _POINTWISE or is_mutable(aten_overload(node.target)):
        return False
    shape = _float_shape(node)
    others = [a for a in (*node.args, *node.kwargs.values()) if not isinstance(a, Node)]
    plain = all(a is None or isinstance(a, (int, float, bool, str)) for a in others)
    inputs = _inputs(node, numbers)
    if shape is None or not plain or not inputs:
        return False
    return all((given := _float_shape(n)) is not None and same_shape(given, shape) for n in inputs)


def _float_shape(node: Node) -> torch.Size | None:
    meta = node.meta.get("val")
    return meta.shape if isinstance(meta, torch.Tensor) and meta.dtype == torch.float32 else None
