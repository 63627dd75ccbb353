"""What the lowering wants to know of a program before its first node; found out once, for all walks over it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from ..plugin.target import Target
from .exported_program import NOTHING, Known, all_known, constants, is_dequantize, is_quantize
from .rule import Q
from .rule_set import RuleSet
from .unary_functions import Function, functions_of
from .values import QParams


class Facts:
    """Facts of one program.

    Args:
        known: data of constants, for a program with fake ones (``exported_program.constants``).

    ``followed`` keeps whether tables of 16 bits follow a function of integers with these parameters, once asked.
    """

    def __init__(self, program: ExportedProgram, target: Target, known: Known = NOTHING) -> None:
        self.rules = RuleSet.of(target.name)
        self.constants = constants(program, known)
        self.all_known = all_known(program, known)
        self.precision = Precision(program.graph, self.rules)
        self.followed: dict[tuple[Function, QParams], bool] = {}
        self._functions: dict[Graph, dict[Node, Function]] = {}

    def functions(self, graph: Graph, constants: Mapping[str, torch.Tensor]) -> dict[Node, Function]:
        """The function of one tensor that each node of the program, or of a graph within, is part of."""
        if graph not in self._functions:
            self._functions[graph] = functions_of(graph, self.rules, constants)
        return self._functions[graph]


class Precision:
    """Which functions of a graph, in 16 bits, are worth a precise table: whose errors grow in what reads them.

    Args:
        graph: quantized, with quantize and dequantize nodes.
    """

    def __init__(self, graph: Graph, rules: RuleSet) -> None:
        self._graph = graph
        self._rules = rules
        self._recurrent: set[Node] | None = None

    def is_worth_it(self, node: Node) -> bool:
        """Whether one quantum of a function's result may be several of what is computed with it.

        Layers and matrix products add up many numbers, each with an error of its own: they do not ask for more, unless
        they are recurrent, where an error of one step goes through all that follow.
        """
        if self._is_computed_with(node):
            return True
        if self._recurrent is None:
            self._recurrent = self._recurrent_layers()
        return self._is_part_of(node, self._recurrent)

    def _is_computed_with(self, node: Node) -> bool:
        """Whether arithmetic or a function reads a result."""
        for user in node.users:
            rule = self._rules.of_node(user)
            one = len(user.all_input_nodes) == 1
            if rule and (rule.quant in (Q.ARITHMETIC, Q.PRODUCT, Q.TABLE) or (rule.quant is Q.ACCUMULATE and one)):
                return True
            hands_on = rule.quant in (Q.SHARED, Q.BOUNDS) if rule else is_quantize(user) or is_dequantize(user)
            if hands_on and self._is_computed_with(user):
                return True
        return False

    def _recurrent_layers(self) -> set[Node]:
        """The layers whose result goes, sooner or later, into a layer with the same weights, and the latter."""
        sharing: dict[Node, list[Node]] = defaultdict(list)
        for node in self._graph.nodes:
            if self._is_layer(node) and len(node.args) > 1 and isinstance(node.args[1], Node):
                weight = node.args[1]
                sharing[weight.all_input_nodes[0] if is_dequantize(weight) else weight].append(node)
        found: set[Node] = set()
        for layers in sharing.values():
            for layer in layers if len(layers) > 1 else ():
                if (later := _first(layer, set(layers), lambda n: n.users)) is not None:
                    found |= {layer, later}
        return found

    def _is_part_of(self, node: Node, layers: set[Node]) -> bool:
        """Whether one of these layers lies before or behind a node, with no other layer between."""
        ways: tuple[Callable[[Node], Iterable[Node]], ...] = (lambda n: n.users, lambda n: n.all_input_nodes)
        return bool(layers) and any(_first(node, layers, way, self._is_layer) is not None for way in ways)

    def _is_layer(self, node: Node) -> bool:
        rule = self._rules.of_node(node)
        return rule is not None and rule.quant is Q.CONV


def _first(
    start: Node,
    wanted: set[Node],
    step: Callable[[Node], Iterable[Node]],
    ends: Callable[[Node], bool] = lambda node: False,
) -> Node | None:
    """A node that is wanted, on the way from another (which does not count); none behind where a way ends."""
    seen, waiting = {start}, [start]
    while waiting:
        for node in step(waiting.pop()):
            if node in seen:
                continue
            if node in wanted:
                return node
            seen.add(node)
            if not ends(node):
                waiting.append(node)
    return None
