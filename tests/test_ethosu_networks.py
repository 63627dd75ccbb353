"""Whole networks, compiled by Vela, on the functional model of Ethos-U: the reference model's results, bit for bit.

``benchmarks/ethosu_networks.py`` does so on every accelerator; these are some of them.
"""

from __future__ import annotations

import pytest

from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.testing.harness import Execution, exported
from models import MODELS

#: Network, scheme, accelerator, and how many distinct values of its outputs there are at least.
ROWS = [
    ("mobilenet_v2", "int8", "ethos-u55-128", 100),
    ("mobilenet_v2", "int8", "ethos-u85-256", 100),
    ("mobilenet_v2", "int16", "ethos-u85-1024", 500),
    ("resnet18", "int8", "ethos-u65-512", 100),
    ("resnet18", "int8", "ethos-u85-2048", 100),
    ("bert_tiny_states", "int8", "ethos-u55-256", 100),
    ("bert_tiny_states", "int8", "ethos-u85-128", 100),
    ("deit_tiny", "int8", "ethos-u85-512", 100),
]


@pytest.mark.parametrize(("network", "scheme", "accelerator", "distinct"), ROWS)
def test_network(network: str, scheme: str, accelerator: str, distinct: int) -> None:
    """The harness compares what the target made with the reference model, and says where they differ."""
    target = find_target(accelerator)
    if target.host.run is None or target.compiler.compile_spec is None:
        pytest.skip("needs the runtime: pip install packages/arm-runtime-cpp")
    module, inputs = MODELS[network]()
    run = Execution(exported(module, inputs(0), target.compiler.compile_spec(), scheme), target)
    pairs = run.edges(inputs(100))
    assert pairs
    made, _ = pairs[-1]
    assert made.unique().numel() >= distinct
