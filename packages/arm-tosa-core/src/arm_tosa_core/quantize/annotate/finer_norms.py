"""Parts of norms in another form, in which an int16 scheme rounds less; the numbers are the same.

``1 / sqrt(x)`` is one function: a small root of few steps would be a coarse reciprocal. A mean of squares less the
square of the mean is the mean of squares without it: what is left of two large numbers would be their roundings.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.rule_set import RuleSet
from ..schemes.config import QuantizationConfig
from .composites import AtenBuilder, AtenValue
from .energies import hands_on, has_16_bits

_ATEN = torch.ops.aten
#: How far from 1 a number times the count may be that divides a sum by the count.
_ROUNDED = 1e-6


def refine_norms(
    module: GraphModule, rules: RuleSet, config_of: Callable[[Node], QuantizationConfig | None]
) -> GraphModule:
    """Replaces reciprocals of roots, and variances, that have an int16 scheme."""
    for node in list(module.graph.nodes):
        if node.target not in (_ATEN.reciprocal.default, _ATEN.sub.Tensor) or not has_16_bits(node, config_of):
            continue
        with module.graph.inserting_before(node):
            joined = _Finer(module, rules, config_of, node).of()
        if joined is not None:
            node.replace_all_uses_with(joined)
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


class _Finer:
    """The other form of one node."""

    def __init__(
        self, module: GraphModule, rules: RuleSet, config_of: Callable[[Node], QuantizationConfig | None], node: Node
    ) -> None:
        self._node, self._rules, self._aten = node, rules, AtenBuilder(module, rules, node).aten
        self._config_of = config_of

    def of(self) -> Node | None:
        match self._node.args:
            case (Node(target=_ATEN.sqrt.default, args=(Node() as x,)) as root,) if has_16_bits(root, self._config_of):
                joined: Node = self._aten.rsqrt(AtenValue(x)).node
                return joined
            case (Node() as squares, Node(target=_ATEN.mul.Tensor, args=(Node() as mean, Node() as same))):
                return self._variance(squares, mean) if mean is same else None
        return None

    def _variance(self, squares: Node, mean: Node) -> Node | None:
        if self._node.kwargs or squares.meta["val"].shape != mean.meta["val"].shape:
            return None  # the square is taken twice, or of each from each
        below, beside = _mean(squares), _mean(mean)
        if below is None or beside is None:
            return None
        (square, axes), (x, same) = below, beside
        if axes != same or square.target is not _ATEN.mul.Tensor or square.args != (x, x):
            return None
        if not all(has_16_bits(node, self._config_of) for node in (squares, mean, square)):
            return None  # the scheme of its parts would be lost
        centered = self._centered(x, axes, mean)
        variance = self._aten.mean(self._aten.mul(centered, centered), axes, True)
        replaced: Node = self._aten.reshape(variance, list(self._node.meta["val"].shape)).node
        return replaced

    def _centered(self, x: Node, axes: list[int], mean: Node) -> AtenValue:
        """x without its mean: what there is already, or a new one that is also what comes later."""
        there = [node for node in x.users if self._is_centered(node, x, mean)]
        nodes = list(self._node.graph.nodes)
        before = [node for node in there if nodes.index(node) < nodes.index(self._node)]
        if before:
            return AtenValue(before[0])
        centered: AtenValue = self._aten.sub(AtenValue(x), self._aten.mean(AtenValue(x), axes, True))
        for node in there:
            node.replace_all_uses_with(centered.node)
        return centered

    def _is_centered(self, node: Node, x: Node, mean: Node) -> bool:
        if node.target is not _ATEN.sub.Tensor or len(node.args) != 2 or node.kwargs or node.args[0] is not x:
            return False
        subtracted: Any = node.args[1]
        while isinstance(subtracted, Node) and self._is_view(subtracted):
            subtracted = subtracted.args[0]
        return subtracted is mean and bool(node.meta["val"].shape == x.meta["val"].shape)

    def _is_view(self, node: Node) -> bool:
        rule = self._rules.of_node(node)
        return rule is not None and hands_on(node, rule)


def _mean(node: Node) -> tuple[Node, list[int]] | None:
    """What a node is the mean of, and along which axes: a mean, or a sum times the number for it, of float32."""
    match node.target, node.args:
        case _ATEN.mean.dim, (Node() as x, [*axes], *_):
            pass
        case _ATEN.mul.Tensor, (Node(target=_ATEN.sum.dim_IntList, args=(Node() as x, [*axes], *_)), float() as factor):
            if abs(factor * prod(x.meta["val"].shape[axis] for axis in axes) - 1) > _ROUNDED:
                return None
        case _:
            return None
    meta = x.meta["val"]
    return (x, sorted(axis % meta.dim() for axis in axes)) if meta.dim() and meta.dtype == torch.float32 else None
