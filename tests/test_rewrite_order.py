"""Rewrites of one stage name no neighbour: whatever the order in which they run, networks become the same graphs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest
import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import Rewrite, Stage, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.flow import lower as lower_program
from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite_engine import Observer, Statistics, observed, run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.text import text
from arm_tosa_core.tosa.verifier import verify
from arm_vgf import VgfCompileSpec
from models import MODELS

SPECS: dict[str, Callable[[], ArmCompileSpec]] = {
    "ethos-u55": lambda: EthosUCompileSpec("ethos-u55-128"),
    "ethos-u85": lambda: EthosUCompileSpec("ethos-u85-256"),
    "vgf": lambda: VgfCompileSpec("TOSA-1.0+INT"),
}
SEEDS = range(8)


class _Lowered(Observer):
    """Keeps graphs as they are before any rewrite."""

    def __init__(self, spec: ArmCompileSpec) -> None:
        self.spec = spec
        self.graphs: list[bytes] = []

    def finished(self, graph: Graph, stage: Stage, statistics: Statistics | None) -> None:
        if stage is Stage.LOWER:
            self.graphs.append(serialize(graph, self.spec.tosa_spec))


@cache
def _graphs(network: str, target: str) -> list[bytes]:
    """The delegates of a network, quantized to 8 bits, before rewrites."""
    torch.manual_seed(0)
    module, inputs = MODELS[network]()
    spec = SPECS[target]()
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, inputs(0)).module(), quantizer)
    with torch.no_grad():
        prepared(*inputs(0))
    lowered = _Lowered(spec)
    with observed(lowered):
        lower_program(torch.export.export(convert_pt2e(prepared), inputs(0)), spec)
    assert lowered.graphs
    return lowered.graphs


def _rewritten(graph: Graph, rewrites: Sequence[Rewrite], seed: int | None) -> str:
    """The text of a graph after both stages; the rewrites of each in the order of their names, or in a random one."""
    for stage in (Stage.OPTIMIZE, Stage.LEGALIZE):
        chosen = [rewrite for rewrite in rewrites if rewrite.stage <= stage]
        if seed is not None:
            random.Random(seed).shuffle(chosen)
            chosen = [replace(rewrite, name=f"{i:03}") for i, rewrite in enumerate(chosen)]  # names are the order
        run_rewrites(graph, chosen)
    verify(graph)
    return text(graph, origins=False)


@pytest.mark.parametrize("target", SPECS)
@pytest.mark.parametrize("network", ["digits", "bert_tiny"])
def test_random_orders_give_equal_graphs(network: str, target: str) -> None:
    rewrites = [*REWRITES, *SPECS[target]().target().rewrites]
    for data in _graphs(network, target):
        expected = _rewritten(load(data), rewrites, None)
        assert expected != text(load(data), origins=False), "no rewrite applied"
        for seed in SEEDS:
            assert _rewritten(load(data), rewrites, seed) == expected, f"seed {seed}"


@pytest.mark.parametrize("target", SPECS)
def test_nothing_is_left_to_rewrite(target: str) -> None:
    """The worklist looks again wherever a rewrite could apply: one more look at every operator changes nothing."""
    rewrites = [*REWRITES, *SPECS[target]().target().rewrites]
    for data in _graphs("bert_tiny", target):
        graph = load(data)
        _rewritten(graph, rewrites, None)
        again = run_rewrites(graph, rewrites)
        assert {name: counts.applied for name, counts in again.rewrites.items() if counts.applied} == {}


def test_an_order_that_matters_is_found() -> None:
    """ABS to CLZ and ABS to BITWISE_NOT: the first one wins."""

    def to(name: str) -> Rewrite:
        def replacement(match: Match) -> Tensor:
            return match.insert(name, *match.op.inputs)

        return pattern_rewrite(name, Stage.OPTIMIZE, Pattern("ABS"), replacement)

    def made(seed: int) -> str:
        graph = Graph()
        graph.outputs = [graph.append("ABS", [graph.input("x", (1,), DType.INT32)]).output]
        return _rewritten(graph, [to("CLZ"), to("BITWISE_NOT")], seed)

    assert len({made(seed) for seed in SEEDS}) == 2
