"""The networks of ``tests/models`` are what they claim to be."""

from __future__ import annotations

import pytest
import torch

from models import MODELS, mobilenet_stack

#: Parameters: torchvision's for the first three, ours from then on.
PARAMETERS = {
    "mobilenet_v2": 3_504_872,
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "bert_tiny": 4_386_178,
    "bert_tiny_states": 4_369_408,
    "deit_tiny": 5_717_800,
    "digits": 14_458,
}


@pytest.mark.parametrize("name", MODELS)
def test_size_and_outputs(name: str) -> None:
    """As large as published, the same on every build, and dependent on the input."""
    module, inputs = MODELS[name]()
    again, _ = MODELS[name]()
    assert sum(parameter.numel() for parameter in module.parameters()) == PARAMETERS[name]
    with torch.no_grad():
        one, two = module(*inputs(1)), module(*inputs(2))
        assert torch.equal(one, again(*inputs(1)))
    assert one.std() > 0.1 and (one - two).std() > 0.05


def test_a_stack_is_as_deep_as_asked() -> None:
    sizes = [sum(p.numel() for p in mobilenet_stack(blocks)[0].parameters()) for blocks in (1, 3)]
    assert sizes[1] == 3 * sizes[0]
