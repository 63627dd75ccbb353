"""Cycles, milliseconds and memory on every Ethos-U, Cortex-M and chip, as ``arm-tosa compile --json`` says them.

    python -m benchmarks.cells                                        # all networks: hours
    python -m benchmarks.cells --networks ds_cnn resnet8 --schemes int8
    python -m benchmarks.cells --networks ds_cnn --chips 'alif-*-u85'    # these devices alone

One ``arm-tosa sweep`` for each network, whose figures are those of ``arm-tosa compile``. It is calibrated with one
sample: cycles and memory are right, accuracy is not looked at. A target or chip that takes no such model has a row with
the error.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import environment
from benchmarks.results import ROOT, Measurement, Run, add_results_option, progress, record

BENCHMARK = "cells"
SCHEMES = ("int8", "int16x8")
SPACE = '[targets."ethos-u*"]\n[targets."cortex-m*"]\n[chips."*"]\n'
#: What compiles a case again: the option that names a target or a chip, its name, the scheme.
COMMAND = "arm-tosa compile benchmarks/networks.py:{network} --{kind} {on} --quantize {scheme} -o out.pte --json"


def names() -> list[str]:
    """The networks: those of ``tests/models`` and of ``benchmarks/real``, whose packages must be installed."""
    from benchmarks.real.registry import NETWORKS as REAL
    from benchmarks.registry import NETWORKS

    return [*NETWORKS, *REAL]


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=SCHEMES)
    parser.add_argument("--chips", metavar="PATTERN", help="only the chips of these names; default: every device")
    add_results_option(parser, BENCHMARK)
    options = parser.parse_args()
    space = SPACE if options.chips is None else f"[chips.{json.dumps(options.chips)}]\n"
    run = Run.here(BENCHMARK)
    for network in options.networks or names():
        for measurement in record(options.results, _measured(run, network, options.schemes, space)):
            print(progress(measurement), flush=True)


def _measured(run: Run, network: str, schemes: list[str], space: str) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "space.toml").write_text(f"quantize = {json.dumps(schemes)}\n{space}")
        words = ["--space", f"{folder}/space.toml", "--study", f"{folder}/study", "--points", "1000", "--json"]
        command = ["arm-tosa", "sweep", f"benchmarks/networks.py:{network}", *words]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(), cwd=ROOT, check=False)
    if done.returncode:
        raise SystemExit(f"{network}: arm-tosa sweep ended with {done.returncode}")
    for point in json.loads(done.stdout)["results"]:
        case = {"network": network, "target": point["target"], "scheme": point["quantize"]}
        if point["chip"]:
            case["chip"] = point["chip"]
        yield run.measured(case, "ours", figures(point))


def figures(point: dict[str, Any]) -> dict[str, Any]:
    """The figures of a point of a sweep, or of a compiled model; None where there is no estimate."""
    found = point.get("figures")
    if not found:
        return {"error": str(point.get("error", "no figures"))[:300]}
    made = {"cycles": found["cycles"], "ms": found["ms"], "left": found["on_cpu"]}
    sizes = {"tensors": "tensors", "weights": "constants", "sram": "sram", "flash": "flash"}
    for ours, key in sizes.items():
        size = found[f"{key}_bytes"]
        made[f"{ours}_kib"] = None if size is None else size / 1024
    return {key: value for key, value in made.items() if value is not None}


if __name__ == "__main__":
    main()
