"""The integers and scales of a converted model's weights: read, and replaced."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from ..lowering.exported_program import attribute


def stored(dequantize: Node) -> torch.Tensor:
    """The integers that a dequantize node reads, in the weight's shape."""
    data: torch.Tensor = attribute(_node(dequantize.args[0])).detach()
    return data


def parameters(dequantize: Node) -> tuple[torch.Tensor, int, int]:
    """Scales of a rounded weight, [channels] or [1], and the range of its integers."""
    scale = dequantize.args[1]
    found = attribute(scale).detach().reshape(-1) if isinstance(scale, Node) else torch.tensor([float(str(scale))])
    low, high = (int(str(a)) for a in dequantize.args[-3:-1])
    return found, low, high


def replace(module: GraphModule, dequantize: Node, integers: torch.Tensor, scales: torch.Tensor) -> None:
    """Gives a rounded weight other integers and scales."""
    kept = attribute(_node(dequantize.args[0]))
    with torch.no_grad():
        kept.copy_(integers)
    scale = dequantize.args[1]
    if isinstance(scale, Node):
        with torch.no_grad():
            attribute(scale).copy_(scales.reshape(attribute(scale).shape))
    else:
        dequantize.args = (dequantize.args[0], float(scales), *dequantize.args[2:])


def _node(argument: object) -> Node:
    assert isinstance(argument, Node)
    return argument
