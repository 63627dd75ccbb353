"""What the rules say of a node of an exported module, for those who place observers."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..compat.torchao import is_annotated
from ..lower.exported_program import WRITTEN, attribute, is_constant
from ..lower.operator_names import canonical
from ..lower.rule import Q, Rule
from ..lower.rule_set import RuleSet

_NORM = "aten.batch_norm.default"

#: What computes on int32 whatever the bits of its operands, and has no narrower form that a target would prefer.
_ARITHMETIC = frozenset(f"aten.{name}.Tensor" for name in ("add", "sub", "mul"))
#: What hands a tensor on as it is.
_VIEWS = frozenset(
    f"aten.{name}"
    for name in ("dropout.default", "view.default", "reshape.default", "flatten.using_ints", "unsqueeze.default")
)

#: Policies whose result is an int32 accumulator, so that a clamp or a change of scale that follows is free.
ACCUMULATES = frozenset({Q.CONV, Q.NORM, Q.ARITHMETIC, Q.ACCUMULATE, Q.PRODUCT})


def computed_nodes(module: GraphModule) -> set[Node]:
    """What is computed from inputs and buffers that are written to; all else is constant."""
    found: set[Node] = set()
    for node in module.graph.nodes:
        if node.op == "placeholder" or WRITTEN in node.meta or any(n in found for n in node.all_input_nodes):
            found.add(node)
    return found


def float_inputs(node: Node) -> list[Node]:
    """Float operands, each once."""
    found: list[Node] = []
    for n in node.all_input_nodes:
        meta = n.meta.get("val")
        if isinstance(meta, torch.Tensor) and meta.dtype == torch.float32 and n not in found:
            found.append(n)
    return found


def is_float_result(node: Node) -> bool:
    meta = node.meta.get("val")
    first = meta[0] if isinstance(meta, (list, tuple)) and meta else meta
    return isinstance(first, torch.Tensor) and first.dtype in (torch.float32, torch.float16, torch.bfloat16)


def origin(node: Node) -> Node:
    """What a node is a view of."""
    while canonical(node.target) in _VIEWS and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def is_view(node: Node, rule: Rule) -> bool:
    return rule.quant is Q.SHARED and len(float_inputs(node)) == 1 and canonical(node.target) in _VIEWS


def is_sum(node: Node, rule: Rule) -> bool:
    """Arithmetic on int32; a matrix product, of two tensors, is none, nor is a function of one operand."""
    operands = sum(isinstance(a, Node) for a in node.args)
    if rule.quant is Q.ACCUMULATE:
        return operands == 1 and canonical(node.target) != "aten.cumsum.default"
    return canonical(node.target) in _ARITHMETIC and operands == 2


def is_centered(node: Node) -> bool:
    """A tensor without its mean, as in a norm."""
    if canonical(node.target) != "aten.sub.Tensor" or len(node.all_input_nodes) != 2:
        return False
    whole, mean = node.all_input_nodes
    return canonical(mean.target) == "aten.mean.dim" and mean.args[0] is whole


def absorbed(node: Node, rule: Rule, rules: RuleSet) -> Node | None:
    """The only user of an accumulator, if it only bounds or scales it: one observer, after it, serves both."""
    if rule.quant not in ACCUMULATES or len(node.users) != 1:
        return None
    (user,) = node.users
    follower = rules.of_node(user)
    if follower is None or is_annotated(user) or user.args[0] is not node:
        return None
    if follower.quant is Q.BOUNDS or (follower.quant is Q.PRODUCT and _is_scale(user)):
        return user
    return None


def training_norm(node: Node, rules: RuleSet) -> Node | None:
    """The batch norm that is the only user of a convolution; where it is not trained, it has been folded before."""
    users = list(node.users)
    if len(users) != 1 or canonical(users[0].target) != _NORM or users[0].args[0] is not node:
        return None
    return users[0] if "conv" in canonical(node.target) else None


def _is_scale(node: Node) -> bool:
    """A product with, or a quotient by, a positive number."""
    other: Any = node.args[1] if len(node.args) > 1 else None
    if isinstance(other, Node) and is_constant(other):
        found = attribute(other)
        other = float(found) if found.numel() == 1 else None
    return isinstance(other, (int, float)) and other > 0
