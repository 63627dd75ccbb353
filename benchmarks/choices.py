"""Vela's cycles of networks with and without what the estimate chooses (``arm_tosa_core/rewrites/by_estimate.py``).

    python -m benchmarks.choices
    python -m benchmarks.choices --networks mobilenet_v2 resnet18 --targets ethos-u55-128

Each network is quantized with one sample and lowered once for each family of targets; the graphs are legalized twice.
Fails where the cycles of a network rise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.rewrites import catalogue, rewrites_for
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.plugin.target import Compiler, Target
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import Application, Observer, Statistics, observed
from arm_tosa_core.tosa.serializer import serialize
from benchmarks.registry import NETWORKS, Network, network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

DEFAULT = (
    "digits", "ds_cnn", "resnet8", "mobilenet_v1_025", "autoencoder", "mobilenet_v2", "mobilenet_v3_small", "resnet18",
    "inception_v3", "efficientnet_b0", "shufflenet_v2", "deeplab_v3", "convnext", "mobilevit",
)  # fmt: skip
TARGETS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256")
_CHOICES = {row.rewrite.name for row in catalogue.ROWS if isinstance(row.rewrite, Choice)}


class _Watcher(Observer):
    """Keeps the graphs of a program as they are before any rewrite, and counts what is chosen."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.graphs: list[bytes] = []
        self.chosen: dict[str, int] = {}

    def finished(self, graph: Graph, stage: Stage, statistics: Statistics | None) -> None:
        if stage is Stage.LOWER:
            self.graphs.append(serialize(graph, self.target.tosa_spec))

    def applied(self, graph: Graph, application: Application) -> None:
        if (name := application.rewrite.name) in _CHOICES:
            self.chosen[name] = self.chosen.get(name, 0) + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=DEFAULT)
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    add_results_option(parser, "choices")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), _worse)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("choices")
    for name in options.networks:
        lowered = lowering(name)
        for accelerator in options.targets:
            target = EthosUCompileSpec(accelerator).target()
            plain = replace(target, rewrites=rewrites_for(accelerator))
            graphs = lowered(plain)
            watcher = _Watcher(target)
            before = sum(_cycles(plain, tosa) for tosa in graphs)
            with observed(watcher):
                after = sum(_cycles(target, tosa) for tosa in graphs)
            metrics = {"cycles_without": before, "cycles": after, "chosen": watcher.chosen}
            yield run.measured({"network": name, "target": accelerator}, "ours", metrics)


def lowered_graphs(name: str, target: Target, made: Network | None = None) -> list[bytes]:
    """The graphs of the delegates of a network in int8 before any rewrite, as TOSA flatbuffers.

    Args:
        name: of the network.
        made: what is to be lowered in place of the network of that name.
    """
    module, inputs = made or network(name)
    watcher = _Watcher(target)
    assert target.compiler.compile_spec is not None
    with observed(watcher):
        Execution(
            exported(module, inputs(0), target.compiler.compile_spec(), "int8"), replace(target, compiler=Compiler())
        )
    return watcher.graphs


def lowering(name: str, made: Network | None = None) -> Callable[[Target], list[bytes]]:
    """``lowered_graphs`` of one network, which is lowered once for each specification."""
    known: dict[str, list[bytes]] = {}

    def graphs(target: Target) -> list[bytes]:
        spec = str(target.spec)
        if spec not in known:
            known[spec] = lowered_graphs(name, target, made)
        return known[spec]

    return graphs


def _cycles(target: Target, tosa: bytes) -> float:
    assert target.report.estimate is not None
    return target.report.estimate(serialize(legalize(load(tosa), target), target.tosa_spec))["cycles"]


def _worse(measurement: Measurement) -> str:
    before, after = (measurement.metrics[name] for name in ("cycles_without", "cycles"))
    return f"{after} cycles in place of {before}" if after > before else ""


if __name__ == "__main__":
    sys.exit(main())
