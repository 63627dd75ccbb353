"""Cycles of a GPU's neural accelerator (NX) by Arm's estimator: this project beside executorch.backends.arm.

    nox -s bench-nx                                                  # all networks, both sides: an hour on two cores
    python -m benchmarks.nx --networks ds_cnn mobilenet_v2           # some, where their packages are installed

The estimator is the user's own: ``docs/how-to/estimate-vgf.md``. Each side quantizes a network to int8 by its
documented flow, with the same calibration samples, and lowers it to VGF with float and with integer edges: here
``integer_io``, there its profile of integers and ExecuTorch's ``QuantizeInputs`` and ``QuantizeOutputs``. Figures are
added up over delegates (of the footprint: the largest). The estimator rates integers; what reads or makes floats is
counted apart: ``float_operators``, ``float_bytes`` (what each reads and writes), ``on_shaders``. ``left`` counts
operators outside of delegates. A failure of the estimator is a row with its reason.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import replace

from arm_vgf.nx_estimator import ADVICE, PROGRAM, NxEstimator, find_program
from benchmarks.nx.registry import HELD_OUT, NETWORKS
from benchmarks.nx.sides import EDGES, SIDES
from benchmarks.processes import run_case
from benchmarks.results import Measurement, Run, add_results_option, run_and_record


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(SIDES))
    parser.add_argument("--edges", nargs="+", choices=EDGES, default=EDGES)
    parser.add_argument("--system", help="a description of the estimator's, or a file (default: its own default)")
    parser.add_argument("--keep", default="", metavar="FOLDER", help="where graphs and VGFs stay")
    add_results_option(parser, "nx")
    options = parser.parse_args()
    if (program := find_program()) is None:
        parser.error(f"the estimator is not installed: {ADVICE}")
    options.estimator = NxEstimator.of(program, options.system)
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run, system = _run(options.estimator), options.estimator.system
    named = {"system": system.stem if system else "the program's own"}
    for network in options.networks:
        part = "held out" if network in HELD_OUT else "chosen on"
        for side in options.sides:
            found = run_case("nx.case", side, network, ",".join(options.edges), str(system or ""), options.keep)
            for edges in options.edges:
                metrics = found.get(edges) or {"error": found.get("error", "not reached")}
                yield run.measured({"network": network, "part": part, "edges": edges, **named}, side, metrics)


def _run(estimator: NxEstimator) -> Run:
    """This run; the program tells no version of itself, so that its digest stands for it."""
    run = Run.here("nx")
    digest = hashlib.sha256(estimator.program.read_bytes()).hexdigest()
    return replace(run, versions={**run.versions, PROGRAM: f"sha256:{digest[:12]}"})


if __name__ == "__main__":
    sys.exit(main())
