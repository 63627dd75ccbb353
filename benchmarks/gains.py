"""Vela's cycles of networks without each rewrite that is there for speed, or with each that is for other families.

    python -m benchmarks.gains                   # trained networks need the packages of benchmarks/real
    python -m benchmarks.gains --networks mobilenet_v2 crepe_tiny --targets ethos-u55-128

Each network is quantized with one sample and lowered once for each family of targets; its graphs are legalized as they
are, then again for each rewrite that changed them, without that one, and for each rewrite of other families, with it.
A rewrite that is right to have makes some network 1 % faster at least, and none more than 0.25 % slower: the run fails
where one does. Rewrites for correctness and support are not left out: programs would be wrong, or not compile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from unittest.mock import patch

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS, Family
from arm_ethosu.rewrites.catalogue import ROWS, Kind, Row
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.support.errors import LoweringError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.rewrite_engine import Application, Observer, observed
from benchmarks.lowered_graphs import legal, lowering, trained
from benchmarks.networks_of_users import REG
from benchmarks.registry import NETWORKS, Network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

#: Networks of tests/models, without large ones that others stand for, and trained ones of other kinds.
_LEFT_OUT = ("resnet50", "bert_tiny_states", "qwen", "gemma", "phi")
_TRAINED = ("mtcnn_onet", "crepe_tiny", "basic_pitch", "speech_quality_p808", "silero_vad", "text_direction")
CASES = (*(name for name in NETWORKS if name not in _LEFT_OUT), *_TRAINED, *REG)
TARGETS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")
#: Of what a rewrite may make a network slower.
TOLERANCE = 0.0025
_SPEED = (Kind.SPEED, Kind.MEMORY)


class _Names(Observer):
    """The names of the rewrites that changed a graph."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def applied(self, graph: Graph, application: Application) -> None:
        self.names.add(application.rewrite.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=CASES, help="of tests, benchmarks.real, networks_of_users")
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    add_results_option(parser, "gains")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), worse)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("gains")
    for name in options.networks:
        lowered = lowering(name, _other(name))
        for accelerator in options.targets:
            case = {"network": name, "target": accelerator}
            yield run.measured(case, "ours", _metrics(accelerator, lowered(_target(accelerator))))


def _other(name: str) -> Network | None:
    """A network that ``tests/models`` has not; None: it has."""
    if name in REG:
        return REG[name]()
    return None if name in NETWORKS else trained(name)


def _metrics(accelerator: str, graphs: Sequence[bytes]) -> dict[str, object]:
    plain, family, watcher = _target(accelerator), ACCELERATORS[accelerator], _Names()
    with observed(watcher):
        cycles = _cycles(plain, graphs)
    found: dict[str, dict[str, float | None]] = {"without": {}, "with": {}}
    for row in ROWS:
        name, own = _name(row, accelerator), family in row.on
        if row.kind not in _SPEED or own is not (name in watcher.names):
            continue
        other = _cycles(_without(accelerator, row) if own else _with(plain, row), graphs)
        if other != cycles:
            found["without" if own else "with"][name] = other
    return {"cycles": cycles, **found}


def _target(accelerator: str) -> Target:
    return EthosUCompileSpec(accelerator).target()


def _name(row: Row, accelerator: str) -> str:
    family: Family = ACCELERATORS[accelerator] if ACCELERATORS[accelerator] in row.on else row.on[0]
    return row.on_accelerator(next(name for name, of in ACCELERATORS.items() if of == family)).name


def _without(accelerator: str, row: Row) -> Target:
    """The target without a rewrite, of which the estimate knows nothing either."""
    with patch("arm_ethosu.rewrites.ROWS", tuple(other for other in ROWS if other is not row)):
        return _target(accelerator)


def _with(target: Target, row: Row) -> Target:
    some = next(name for name, family in ACCELERATORS.items() if family in row.on)
    return replace(target, rewrites=(*target.rewrites, row.on_accelerator(some)))


def _cycles(target: Target, graphs: Sequence[bytes]) -> float | None:
    """Of all graphs together; None where Vela does not take one."""
    assert target.report.estimate is not None
    try:
        return sum(target.report.estimate(legal(tosa, target))["cycles"] for tosa in graphs)
    except LoweringError:
        return None


def worse(measurement: Measurement) -> str:
    """What a rewrite that the target has costs a network, in a sentence; empty: nothing."""
    cycles = measurement.metrics["cycles"]
    lost = [
        f"{name}: {cycles:.0f} cycles in place of {other:.0f}"
        for name, other in measurement.metrics["without"].items()
        if other is not None and cycles > other * (1 + TOLERANCE)
    ]
    return "; ".join(lost)


if __name__ == "__main__":
    sys.exit(main())
