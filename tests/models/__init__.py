"""Networks with random weights for tests and benchmarks; no download, the same numbers on every machine.

``MODELS["mobilenet_v2"]()`` returns a module in eval mode and a function of a seed that gives a tuple of inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from . import (
    convolutional,
    diffusion,
    digits,
    mobilenet_v2,
    resnet,
    stack,
    text,
    transformers_networks,
    vision_transformer,
)
from .realistic import settle

Inputs = Callable[[int], tuple[torch.Tensor, ...]]
Network = tuple[torch.nn.Module, Inputs]

MODELS: dict[str, Callable[[], Network]] = {
    "mobilenet_v2": lambda: settle(mobilenet_v2.build, mobilenet_v2.inputs),
    "resnet18": lambda: settle(resnet.resnet18, resnet.inputs),
    "resnet50": lambda: settle(resnet.resnet50, resnet.inputs),
    "bert_tiny": lambda: settle(text.bert_tiny, text.inputs),
    "bert_tiny_states": lambda: settle(text.bert_tiny_states, text.inputs),
    "deit_tiny": lambda: settle(vision_transformer.deit_tiny, vision_transformer.inputs),
    "digits": lambda: settle(digits.build, digits.inputs),
}

#: More of the field, smaller than their papers have them: what lowers is judged on these.
ZOO: dict[str, Callable[[], Network]] = {
    name: partial(settle, build, inputs)
    for name, (build, inputs) in {
        **convolutional.NETWORKS,
        **transformers_networks.NETWORKS,
        **diffusion.NETWORKS,
    }.items()
}


def mobilenet_stack(blocks: int) -> Network:
    """A network of ``blocks`` equal MobileNetV2 blocks: its cost should be proportional to ``blocks``."""
    return settle(lambda: stack.build(blocks), stack.inputs)
