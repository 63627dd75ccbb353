"""What the rules say of a node of an exported module, for those who place observers."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...compat.torch import schema_of
from ...compat.torchao import is_annotated
from ...lowering.exported_program import attribute, is_constant
from ...lowering.node_facts import facts
from ...lowering.rule import Q, Rule
from ...lowering.rule_set import RuleSet
from ...lowering.traits import Moves

#: Such a factor makes masks of ones and zeros, which must not be a part of a step off.
MASKS = 1000.0
#: Policies whose result is an int32 accumulator, so that a clamp or a change of scale that follows is free.
ACCUMULATES = frozenset({Q.CONV, Q.NORM, Q.ARITHMETIC, Q.ACCUMULATE, Q.PRODUCT})


def is_layer(node: Node, rules: RuleSet) -> bool:
    """Whether a node is a convolution or a linear layer."""
    rule = rules.of_node(node)
    return rule is not None and rule.quant is Q.CONV and len(node.args) >= 2


def arguments_of(node: Node) -> dict[str, Any]:
    """Those of a call of an operator by their names, with defaults."""
    defaults = {each.name: each.default_value for each in schema_of(node.target).arguments}
    return {**defaults, **dict(zip(defaults, node.args, strict=False)), **node.kwargs}


def computed_nodes(module: GraphModule) -> set[Node]:
    """What is computed from inputs and buffers that are written to; all else is constant, or known from sizes alone.

    What is known from sizes may be indices, as of a bicubic interpolation: rounded, they would be others.
    """
    computed: set[Node] = set()
    for node in module.graph.nodes:
        if node.target is torch.ops.aten.sym_size.int:
            continue
        if node.op == "placeholder" or facts(node).written or any(n in computed for n in node.all_input_nodes):
            computed.add(node)
    return computed


def float_inputs(node: Node) -> list[Node]:
    """Float operands, each once."""
    inputs: list[Node] = []
    for n in node.all_input_nodes:
        meta = n.meta.get("val")
        if isinstance(meta, torch.Tensor) and meta.dtype == torch.float32 and n not in inputs:
            inputs.append(n)
    return inputs


def is_float_result(node: Node) -> bool:
    meta = node.meta.get("val")
    first = meta[0] if isinstance(meta, (list, tuple)) and meta else meta
    return isinstance(first, torch.Tensor) and first.dtype in (torch.float32, torch.float16, torch.bfloat16)


def origin(node: Node, rules: RuleSet) -> Node:
    """What a node is a view of."""
    while rules.traits_of(node).moves >= Moves.IN_ORDER and isinstance(node.args[0], Node):
        node = node.args[0]
    return node


def is_view(node: Node, rule: Rule) -> bool:
    """Whether a node hands on the numbers of its one operand, in their order and in their scale."""
    moves = rule.quant is Q.SHARED and rule.traits.moves >= Moves.IN_ORDER
    return moves and not facts(node).rescales and len(float_inputs(node)) == 1


def is_sum(node: Node, rule: Rule) -> bool:
    """Arithmetic on int32, of two operands or over axes; a matrix product, or a function of one operand, is none."""
    if rule.traits.arithmetic in ("sum", "mean"):
        return True
    return rule.traits.arithmetic is not None and sum(isinstance(a, Node) for a in node.args) == 2


def is_centered(node: Node, rules: RuleSet) -> bool:
    """A tensor without its mean over axes, as in a norm."""
    if rules.traits_of(node).arithmetic != "sub" or len(node.all_input_nodes) != 2:
        return False
    whole, mean = node.all_input_nodes
    return rules.traits_of(mean).arithmetic == "mean" and mean.args[0] is whole and len(mean.args) > 1


def absorbed(node: Node, rule: Rule, rules: RuleSet) -> Node | None:
    """The only user of an accumulator, if it only bounds or scales it: one observer, after it, serves both."""
    if rule.quant not in ACCUMULATES or len(node.users) != 1:
        return None
    (user,) = node.users
    follower = rules.of_node(user)
    if follower is None or is_annotated(user) or user.args[0] is not node:
        return None
    if follower.quant is Q.BOUNDS or (follower.quant is Q.PRODUCT and scale_factor(user) is not None):
        return user
    return None


def training_norm(node: Node, rules: RuleSet) -> Node | None:
    """The batch norm that is the only user of a convolution; where it is not trained, it has been folded before."""
    if len(node.users) != 1:
        return None
    (user,) = node.users
    norm = rules.of_node(user)
    if norm is None or norm.quant is not Q.NORM or user.args[0] is not node:
        return None
    return user if rules.traits_of(node).image else None


def scale_factor(node: Node) -> float | None:
    """The positive number that a product is with; what makes masks of zeros and ones reads them rounded."""
    other: Any = node.args[1] if len(node.args) > 1 else None
    if isinstance(other, Node) and is_constant(other):
        value = attribute(other)
        other = float(value) if value.numel() == 1 else None
    return float(other) if isinstance(other, (int, float)) and 0 < other < MASKS else None
