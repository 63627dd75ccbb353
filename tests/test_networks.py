"""Whole networks, int8, to TOSA: what is delegated, whether the graph is valid, whether it computes the same."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from arm_tosa_core import TosaSpecification
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa import reference_model as reference
from nets import Lowered, lower_int8, sqnr


@dataclass(frozen=True)
class Case:
    """A network, the samples it is judged on, and what may stay outside besides q/dq.

    As many samples as make the figure steady: few outputs or many layers of rounding want more (two images of DeiT-tiny
    differ by up to 0.7 dB either way, twelve by 0.3; 48 sentences and BERT-tiny's two scores by 1.1).
    """

    name: str
    samples: int
    outside: frozenset[str] = frozenset()


CASES = [
    Case("digits", 32),
    Case("mobilenet_v2", 2),
    Case("resnet18", 8),
    # TOSA has no int64: the token ids are narrowed first.
    Case("bert_tiny_states", 4, frozenset({"dim_order_ops._to_dim_order_copy.default"})),
    Case("deit_tiny", 12),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Lowered]:
    case, flow = request.param, request.config.getoption("--arm-flow")
    return case, lower_int8(case.name, tmp_path_factory.mktemp(case.name), case.samples, flow)


@pytest.mark.parametrize("name", ["digits", "bert_tiny"])
def test_both_flows_compute_the_same_bits(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    fast, ordinary = (lower_int8(name, tmp_path_factory.mktemp(flow), 2, flow) for flow in ("fast", "ordinary"))
    assert fast.left_outside() == ordinary.left_outside()
    for inputs in fast.samples:
        assert torch.equal(fast.compiled(*inputs), ordinary.compiled(*inputs))


def test_one_delegate_takes_everything(network: tuple[Case, Lowered]) -> None:
    case, lowered = network
    left = lowered.left_outside()
    assert left.pop("delegate") == 1
    assert {operator for operator in left if "quantize_per_tensor" not in operator} <= case.outside
    assert len(lowered.graphs) == 1


def test_quantize_only_at_the_edges(network: tuple[Case, Lowered]) -> None:
    """At most one quantize per float input and one dequantize per output."""
    _, lowered = network
    left = lowered.left_outside()
    float_inputs = sum(tensor.is_floating_point() for tensor in lowered.samples[0])
    assert left["quantized_decomposed.quantize_per_tensor.default"] <= float_inputs
    assert left["quantized_decomposed.dequantize_per_tensor.default"] <= 1


def test_graph_is_valid(network: tuple[Case, Lowered]) -> None:
    """``tosa-opt`` takes the graph as TOSA 1.0 INT, and would not take it as FP: it does look."""
    _, lowered = network
    for graph in lowered.graphs:
        reference.validate(graph, TosaSpecification.create_from_string("TOSA-1.0+INT"))
        with pytest.raises(ToolError, match="pro_int"):
            reference.validate(graph, TosaSpecification.create_from_string("TOSA-1.0+FP"))


def test_compiled_loses_no_accuracy(network: tuple[Case, Lowered]) -> None:
    """Against float, the TOSA graph on the reference model is at most 0.5 dB worse than the eager quantized graph."""
    _, lowered = network
    eager = sqnr(lowered.exact, lowered.quantized, lowered.samples)
    compiled = sqnr(lowered.exact, lowered.compiled, lowered.samples)
    assert compiled >= eager - 0.5
