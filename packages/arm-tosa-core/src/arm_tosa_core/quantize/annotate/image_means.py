"""Average pools over whole images, which become means.

A pool keeps the scale of what it reads. The mean of an image reaches less far than its pixels, so that a scale of its
own has finer steps. In 16 bits either has enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...lowering.rule_set import RuleSet
from ..schemes.config import QuantizationConfig
from .composites import AtenBuilder, AtenValue
from .node_roles import arguments_of

_ATEN = torch.ops.aten
#: The axes of their images.
_AXES: dict[Any, list[int]] = {
    _ATEN.avg_pool1d.default: [2],
    _ATEN.avg_pool2d.default: [2, 3],
    _ATEN.adaptive_avg_pool1d.default: [2],
    _ATEN.adaptive_avg_pool2d.default: [2, 3],
    _ATEN._adaptive_avg_pool2d.default: [2, 3],
}
#: Channels, of which an image has a multiple, and pixels along each of two axes, at most. Ethos-U sums such an image in
#: columns, for a mean as for a pool. Of others a mean takes up to five times the cycles of a pool.
_CHANNELS, _LONGEST = 16, 64


def take_means(
    module: GraphModule, rules: RuleSet, config_of: Callable[[Node], QuantizationConfig | None]
) -> GraphModule:
    """Replaces pools of 8 bits by means, where these cost no more."""
    for node in list(module.graph.nodes):
        if node.target in _AXES and _has_8_bits(config_of(node)) and _is_whole(node) and _is_cheap(node):
            with module.graph.inserting_before(node):
                image = AtenValue(node.args[0])
                mean: AtenValue = AtenBuilder(module, rules, node).aten.mean(image, _AXES[node.target], True)
            node.replace_all_uses_with(mean.node)
            module.graph.erase_node(node)
    module.recompile()
    return module


def _has_8_bits(config: QuantizationConfig | None) -> bool:
    spec = None if config is None or config.is_dynamic else config.input_activation
    return spec is not None and spec.dtype == torch.int8


def _is_whole(node: Node) -> bool:
    """Whether a pool of a batch of images has one window, which is all of an image."""
    axes, sizes, arguments = _AXES[node.target], _shape(node)[2:], arguments_of(node)
    if len(sizes) != len(axes) or prod(sizes) == 1:
        return False
    if "output_size" in arguments:
        return {*arguments["output_size"]} == {1}
    windows = (arguments["kernel_size"] * len(axes))[: len(axes)]
    return windows == sizes and not any(arguments["padding"]) and arguments.get("divisor_override") is None


def _is_cheap(node: Node) -> bool:
    """Whether the mean costs no more than the pool: of one image, in columns, which nothing else reads in its shape."""
    batch, channels, *sizes = _shape(node)
    fits = len(sizes) == 1 or max(sizes) <= _LONGEST
    return batch == 1 and channels % _CHANNELS == 0 and fits and len(node.all_input_nodes[0].users) == 1


def _shape(node: Node) -> Sequence[int]:
    """That of what a pool reads; empty if a size varies."""
    shape = [*node.all_input_nodes[0].meta["val"].shape]
    return shape if all(isinstance(size, int) for size in shape) else []
