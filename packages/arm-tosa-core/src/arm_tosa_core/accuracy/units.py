"""The units of a scheme: the layers, each with what is merged into it or moves its numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from torch.fx import GraphModule, Node

from ..lowering.exported_program import is_dequantize, is_quantize
from ..lowering.node_facts import facts
from ..lowering.rule import Q
from ..lowering.rule_set import RuleSet
from .compare import OperatorError
from .scheme import Scheme

WIDE = "int16x8"


@dataclass(frozen=True)
class Unit:
    """What gets a scheme of its own.

    Args:
        name: of the node whose result is rounded.
        modules, nodes: what to set for it: names of modules, and of nodes of the exported graph.
        source: the line of the user's model.
    """

    name: str
    modules: tuple[str, ...]
    nodes: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Units:
    """All units of a model.

    Args:
        all: in the order of the network.
        of: for a node of the prepared graph, the position of its unit. A node that is not in it computes in float, or
            has a scheme that the search does not change.
    """

    all: Sequence[Unit]
    of: Mapping[str, int]

    def scheme(self, base: Scheme, chosen: Sequence[int]) -> Scheme:
        """The scheme with some units in 16 bits, beside its own exceptions."""
        units = [self.all[i] for i in sorted(chosen)]
        return replace(
            base,
            modules={**base.modules, **{name: WIDE for unit in units for name in unit.modules}},
            nodes={**base.nodes, **{name: WIDE for unit in units for name in unit.nodes}},
        )


def find_units(
    exported: set[str], prepared: GraphModule, operators: Sequence[OperatorError], scheme: Scheme, rules: RuleSet
) -> Units:
    """The units of a model that is quantized.

    Results that are moved, chosen or pooled have the bits of what they come from, and belong to its unit. What the
    scheme makes an exception of is left out, as is what a scheme cannot name.

    Args:
        exported: names of the nodes of the exported graph.
    """
    rows = {row.name: row for row in operators}
    graph = {node.name: node for node in prepared.graph.nodes}
    inner = _inner(operators)
    keys: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    members: list[list[str]] = []
    names: list[str] = []
    of: dict[str, int] = {}
    for row in operators:
        if row.bits is None:
            continue
        chain = list(_chain(graph[row.name], rows))
        origin = _origin(graph[row.name], rules)
        if origin is not None and origin.name in rows:
            if origin.name in of:
                members[of[origin.name]] += chain
                of.update(dict.fromkeys(chain, of[origin.name]))
            continue
        key = _named(chain, rows, graph, inner)
        if not exported.issuperset(key[1]) or _is_exception(key, scheme):
            continue
        index = keys.setdefault(key, len(keys))
        if index == len(members):
            members.append([])
            names.append(row.name)
        members[index] += chain
        of.update(dict.fromkeys(chain, index))
    units = []
    for name, parts in zip(names, members, strict=True):
        modules, nodes = _named(parts, rows, graph, inner)
        units.append(Unit(name, modules, tuple(n for n in nodes if n in exported), rows[name].source))
    return Units(units, _with_parts(prepared, of))


def _inner(operators: Sequence[OperatorError]) -> set[str]:
    """Modules that hold others: their own operators are named one by one."""
    paths = {row.module for row in operators if row.module}
    return {path for path in paths if any(other.startswith(f"{path}.") for other in paths)}


def _chain(node: Node, rows: Mapping[str, OperatorError]) -> Iterator[str]:
    """The node whose result is rounded, and those before it that are merged into it."""
    yield node.name
    while node.args and isinstance(before := node.args[0], Node) and before.name in rows:
        if rows[before.name].bits is not None or len(before.users) != 1:
            return
        yield before.name
        node = before


def _origin(node: Node, rules: RuleSet) -> Node | None:
    """What computed the numbers that a node moves or chooses from; None if it computes others.

    Parts of a composite have the scheme of the whole, also those that move numbers.
    """
    if (facts(node).whole or node.name) != node.name:
        return None
    origin: Node | None = None
    while (before := _moved_from(node, rules)) is not None:
        origin = node = before
    return origin


def _moved_from(node: Node, rules: RuleSet) -> Node | None:
    rule = rules.of_node(node)
    part = node.op == "call_function" and node.target is operator.getitem
    if not part and (rule is None or rule.quant is not Q.SHARED):
        return None
    first = node.all_input_nodes[0] if node.all_input_nodes else None
    while first is not None and first.op == "call_module" and first.all_input_nodes:  # an observer
        first = first.all_input_nodes[0]
    return first


def _named(
    members: Sequence[str], rows: Mapping[str, OperatorError], graph: Mapping[str, Node], inner: set[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Modules and nodes by which a scheme names some operators."""
    alone = [name for name in members if not rows[name].module or rows[name].module in inner]
    modules = dict.fromkeys(rows[name].module for name in members if name not in alone)
    return tuple(modules), tuple(dict.fromkeys(facts(graph[name]).whole or name for name in alone))


def _is_exception(key: tuple[tuple[str, ...], tuple[str, ...]], scheme: Scheme) -> bool:
    modules, nodes = key
    own = any(module == name or module.startswith(f"{name}.") for module in modules for name in scheme.modules)
    return own or any(node in scheme.nodes for node in nodes)


def _with_parts(prepared: GraphModule, of: Mapping[str, int]) -> dict[str, int]:
    """Also the operators without a rounding of their own whose only reader is of a unit: they are merged into it."""
    found = dict(of)
    for node in reversed(prepared.graph.nodes):
        if node.op != "call_function" or node.name in found or is_quantize(node) or is_dequantize(node):
            continue
        readers = {found.get(user.name) for user in node.users}
        if len(readers) == 1 and (unit := readers.pop()) is not None:
            found[node.name] = unit
    return found
