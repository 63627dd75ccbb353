"""Vela's cycles of networks with each rewrite that is for some families of Ethos-U, on the families that it is not for.

    python -m benchmarks.elsewhere
    python -m benchmarks.elsewhere --networks vit bert_tiny --targets ethos-u55-128

Rewrites for correctness are left out: they are for what one family gets wrong. A network that a rewrite does not change
gives no line. The figures say why the table in ``arm_ethosu/rewrites/catalogue.py`` restricts a rewrite.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.rewrites.catalogue import ROWS, Kind
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import LoweringError
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from benchmarks.choices import lowering
from benchmarks.registry import NETWORKS
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

DEFAULT = ("ds_cnn", "bert_tiny", "vit", "segformer", "shufflenet_v2", "whisper_encoder")
TARGETS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=DEFAULT)
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    add_results_option(parser, "elsewhere")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), lambda measurement: "")


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("elsewhere")
    for name in options.networks:
        lowered = lowering(name)
        for accelerator in options.targets:
            target = EthosUCompileSpec(accelerator).target()
            graphs = lowered(target)
            for rewrite, made in _elsewhere(accelerator, target):
                metrics = _compared(graphs, target, made)
                if metrics is not None:
                    case = {"network": name, "target": accelerator, "rewrite": rewrite}
                    yield run.measured(case, "ours", metrics)


def _elsewhere(accelerator: str, target: Target) -> Iterator[tuple[str, Target]]:
    """The target with one more rewrite, for each that is not for it."""
    for row in ROWS:
        if row.kind is not Kind.CORRECTNESS and ACCELERATORS[accelerator] not in row.on:
            some = next(name for name, family in ACCELERATORS.items() if family in row.on)
            rewrite = row.on_accelerator(some)
            yield rewrite.name, replace(target, rewrites=(*target.rewrites, rewrite))


def _compared(graphs: list[bytes], plain: Target, more: Target) -> dict[str, float | None] | None:
    """Cycles with and without the rewrite, of the graphs that it changes; None for those that Vela does not take."""
    assert plain.report.estimate is not None
    before = after = 0.0
    for tosa in graphs:
        first = _legal(tosa, plain)
        try:
            second = _legal(tosa, more)
        except LoweringError:
            return {"cycles_without": plain.report.estimate(first)["cycles"], "cycles": None}
        if first != second:
            before += plain.report.estimate(first)["cycles"]
            after += plain.report.estimate(second)["cycles"]
    return {"cycles_without": before, "cycles": after} if before else None


def _legal(tosa: bytes, target: Target) -> bytes:
    return serialize(legalize(load(tosa), target), target.tosa_spec)


if __name__ == "__main__":
    sys.exit(main())
