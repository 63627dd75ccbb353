"""What an exported module computes to no effect, and what would hide the network from the quantizer."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...compat.torch import is_composite, schema_of
from ...lowering.rule_set import RuleSet


def drop_idle(model: GraphModule, rules: RuleSet) -> None:
    """Removes checks, counters that nobody reads, and casts of tensors to the type that they have.

    ``ExportedProgram.module()`` checks its inputs in a call of a submodule, which PT2E cannot take; a cast is preceded
    by a check of what it reads. Batch norms count the batches of their training, which PT2E would leave to inference.
    """
    graph = model.graph
    for node in list(graph.nodes):
        if _is_check(node, rules):
            graph.erase_node(node)
    for counter in graph.find_nodes(op="get_attr"):
        if str(counter.target).endswith("num_batches_tracked") and not any(user.users for user in counter.users):
            for user in list(counter.users):
                graph.erase_node(user)
            graph.erase_node(counter)
    for node in list(graph.nodes):
        if _is_idle_cast(node, rules):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    model.recompile()


def _is_check(node: Node, rules: RuleSet) -> bool:
    guards = node.op == "call_module" and str(node.target) == "_guards_fn"
    return not node.users and (guards or rules.traits_of(node).asserts)


def _is_idle_cast(node: Node, rules: RuleSet) -> bool:
    """A cast that hands on its operand; what is no composite, such as ``_to_copy``, makes a tensor of its own."""
    if not rules.traits_of(node).casts or not is_composite(node.target) or not isinstance(node.args[0], Node):
        return False
    before, after = (n.meta.get("val") for n in (node.args[0], node))
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    if _argument(node, "copy") or any(user.op == "output" for user in node.users):  # an input must not become a result
        return False
    return all(getattr(before, of) == getattr(after, of) for of in ("dtype", "device", "layout")) and (
        before.stride() == after.stride()  # a view may follow that only fits the memory format asked for
    )


def _argument(node: Node, name: str) -> Any:
    """The argument of this name; None if the operator has none, or it is not given."""
    names = [argument.name for argument in schema_of(node.target).arguments]
    given = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return given.get(name)
