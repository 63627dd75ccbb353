"""Assignments to parts of a tensor, ``y[1:3] = v`` and ``y[:, 0] += v``, and to buffers, as new tensors.

PT2E puts a quantize and a dequantize node between a tensor and what reads it: an operator that writes to a view would
write to a copy that nobody reads.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...compat.torch import out_of_place_twin, schema_of, storage_of
from ...lowering.exported_program import mutable, source_line
from ...lowering.node_facts import note
from ...lowering.rule_set import RuleSet
from ...lowering.traits import Moves
from ...support.errors import UsageError
from .composites import AtenBuilder, AtenValue

_aten = torch.ops.aten


def without_assignments(module: GraphModule, rules: RuleSet) -> None:
    """Rewrites what is assigned to views of a module's tensors and to its buffers, in place.

    Where that is done, a buffer or an input is written to once, in the end.

    Raises:
        UsageError: something is assigned through a view that cannot be inverted, such as ``expand``.
    """
    nodes = list(module.graph.nodes)
    parents = {n: n.args[0] for n in nodes if _writes(n) or _is_view(n)}
    memories: dict[Node, _Memory] = {}
    for node in filter(_writes, nodes):
        base = _base(node, parents)
        memories.setdefault(base, _Memory(module, rules, base, parents)).writes.append(node)
    for node in nodes:
        if (memory := memories.get(_base(node, parents))) is not None:
            memory.aliases.add(node)
    for base, memory in memories.items():
        if base.op == "get_attr":
            note(base, written=True)
        if not all(map(memory.may_stay, memory.writes)):
            memory.rewrite()


class _Memory:
    """A tensor, the operators in place that write to it, and what looks at it."""

    def __init__(self, module: GraphModule, rules: RuleSet, base: Node, parents: dict[Node, Any]) -> None:
        self.module, self.rules, self.base, self.parents = module, rules, base, parents
        self.writes: list[Node] = []
        self.aliases: set[Node] = set()  # the tensor, and all that looks at it
        self.now: dict[Node, Node] = {}  # what stands for some of these since the last write

    def may_stay(self, write: Node) -> bool:
        """Whether it overwrites a whole tensor that nothing looks at afterwards, but for its result.

        To a buffer only a copy may: ``convert_pt2e`` takes what others write for constants, and has them write once.
        """
        whole: Any = write.args[0]
        if whole in self.parents and not mutable(whole):
            return False
        if self.base.op == "get_attr" and write.target != _aten.copy_.default:
            return False
        made = self.base.op == "call_function" and not self.base.all_input_nodes
        if made or self.rules.traits_of(self.base).fills is not None:  # such as ``zeros``, which becomes a constant
            return False
        return not any(user > write for alias in self.aliases if alias < write for user in alias.users)

    def rewrite(self) -> None:
        """Makes each write a new tensor, which what comes after it looks at."""
        for node in list(self.module.graph.nodes):
            builder = AtenBuilder(self.module, self.rules, node)
            with self.module.graph.inserting_before(node):
                for operand in node.all_input_nodes:
                    if operand in self.aliases:
                        node.replace_input_with(operand, self._current(builder, operand))
                if node in self.writes:
                    self._write(builder, node)
                elif node in self.aliases:
                    self.now[node] = node
                elif node.op == "output" and self.base.op != "call_function":
                    last = AtenBuilder(self.module, self.rules, self.writes[-1])
                    last.call(_aten.copy_.default, (AtenValue(self.base), AtenValue(self.now[self.base])), {})
        for node in reversed(self.writes):
            self.module.graph.erase_node(node)

    def _current(self, builder: AtenBuilder, alias: Node) -> Node:
        """What looks at the tensor, looking at it as it is now."""
        if alias not in self.now:
            operand = AtenValue(self._current(builder, self.parents[alias]))
            if mutable(alias):
                return operand.node
            if not isinstance(alias.meta["val"], torch.Tensor):
                raise _lost(alias)
            self.now[alias] = builder.call(alias.target, (operand, *alias.args[1:]), alias.kwargs).node
        return self.now[alias]

    def _write(self, builder: AtenBuilder, node: Node) -> None:
        value = result = _out_of_place(builder, node)
        view: Any = self.parents[node]
        while view is not self.base:
            if not mutable(view):
                value = self._put(builder, view, AtenValue(self._current(builder, self.parents[view])), value)
            view = self.parents[view]
        self.now = {self.base: value.node, node: result.node}

    def _put(self, builder: AtenBuilder, view: Node, parent: AtenValue, value: AtenValue) -> AtenValue:
        """A tensor, with ``value`` in the place that a view of it looks at."""
        traits = self.rules.traits_of(view)
        if traits.assign is not None:
            placed: AtenValue = traits.assign(builder, parent, value, *view.args[1:], **view.kwargs)
            return placed
        if traits.moves >= Moves.IN_ORDER:
            return builder.aten.reshape(value, list(parent.shape))
        raise _lost(view)


def _writes(node: Node) -> bool:
    """Whether an operator writes numbers to its first operand."""
    if not mutable(node) or node.target is _aten.detach_.default or not isinstance(node.args[0], Node):
        return False
    target: Any = node.target
    alias = schema_of(target).arguments[0].alias_info
    return alias is not None and bool(alias.is_write)


def _is_view(node: Node) -> bool:
    """Whether an operator gives the memory of its first operand; some, such as ``to``, give that of some."""
    schema = schema_of(node.target)
    says_so = node.target is operator.getitem or (schema is not None and any(r.alias_info for r in schema.returns))
    if node.op != "call_function" or mutable(node) or not says_so:
        return False
    memories = {_memory(node), _memory(node.args[0])}
    return len(memories) == 1 and None not in memories


def _memory(node: Any) -> int | None:
    value = node.meta.get("val") if isinstance(node, Node) else None
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return storage_of(first) if isinstance(first, torch.Tensor) else None


def _base(node: Node, parents: dict[Node, Any]) -> Node:
    while node in parents:
        node = parents[node]
    return node


def _out_of_place(builder: AtenBuilder, node: Node) -> AtenValue:
    """What an operator in place writes, as a tensor of its own."""
    twin = out_of_place_twin(node.target)
    if twin is None:
        raise UsageError(
            f"{source_line(node)}: {node.target} writes to a part of a tensor or to a buffer, and quantization needs "
            "an operator that gives the same as a new tensor, of which there is none: use other operators"
        )
    values: Callable[..., Any] = AtenValue
    result: AtenValue = builder.call(twin, *torch.fx.map_arg((node.args, node.kwargs), values))
    dtype = node.meta["val"].dtype
    return result if result.dtype == dtype else builder.call(_aten.to.dtype, (result, dtype), {})


def _lost(view: Node) -> UsageError:
    return UsageError(
        f"{source_line(view)}: what {view.target} gives is assigned to in place, which quantization would lose: "
        "assign to the tensor itself, or make a new one with torch.where or torch.cat"
    )
