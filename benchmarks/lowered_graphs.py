"""The graphs of a network's delegates as they are before any rewrite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch.export import ExportedProgram

from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.exir.compile_spec import ArmCompileSpec
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.plugin.target import Compiler, Target
from arm_tosa_core.testing.harness import Execution
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import Observer, Statistics, observed
from arm_tosa_core.tosa.serializer import serialize
from benchmarks.registry import Network, network


class _Lowered(Observer):
    def __init__(self, target: Target) -> None:
        self.target = target
        self.graphs: list[bytes] = []

    def finished(self, graph: Graph, stage: Stage, statistics: Statistics | None) -> None:
        if stage is Stage.LOWER:
            self.graphs.append(serialize(graph, self.target.tosa_spec))


def lowered_graphs(name: str, target: Target, made: Network | None = None) -> list[bytes]:
    """The graphs of a network in int8, quantized with one sample, as TOSA flatbuffers.

    Args:
        name: of the network.
        made: what is to be lowered in place of the network of that name.
    """
    module, inputs = made or network(name)
    watcher = _Lowered(target)
    assert target.compiler.compile_spec is not None
    with observed(watcher):
        Execution(_quantized(module, inputs(0), target.compiler.compile_spec()), replace(target, compiler=Compiler()))
    return watcher.graphs


def _quantized(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], spec: ArmCompileSpec) -> ExportedProgram:
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    converted = quantize_program(torch.export.export(module, inputs), quantizer, [inputs]).converted
    return torch.export.export(converted, inputs)


def lowering(name: str, made: Network | None = None) -> Callable[[Target], list[bytes]]:
    """``lowered_graphs`` of one network, which is lowered once for each specification."""
    known: dict[str, list[bytes]] = {}

    def graphs(target: Target) -> list[bytes]:
        spec = str(target.spec)
        if spec not in known:
            known[spec] = lowered_graphs(name, target, made)
        return known[spec]

    return graphs


def trained(name: str) -> Network:
    """A network of ``benchmarks.real``, whose packages are installed."""
    from benchmarks.real.registry import NETWORKS  # late: its packages are fetched

    made = NETWORKS[name].make()
    return made.module, lambda seed: made.calibration[seed]


def legal(tosa: bytes, target: Target) -> bytes:
    """A graph as the target's rewrites make it."""
    return serialize(legalize(load(tosa), target), target.tosa_spec)
