"""Cycles and SRAM on Ethos-U: this project beside executorch.backends.arm and LiteRT, all with the same Vela.

    python -m benchmarks.ethosu_peers --litert /tmp/litert/bin/python
    python -m benchmarks.ethosu_peers --networks ds_cnn --targets ethos-u55-128 --sides ours rival

Each side quantizes a network by its own flow with its default arguments, int8, the same four samples. Figures are
Vela's estimate with its default options for the accelerator, added up over delegates (of SRAM: the largest); ``left``
counts operators outside. ``deep`` is this project with ``schedule="deep"``. LiteRT is in an environment of its own,
whose Python ``--litert`` names (``benchmarks/litert_case.py``). Cases that the file of results has already, at any
commit, are left out unless ``--again``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from arm_ethosu.accelerators import ACCELERATORS
from benchmarks.networks_of_users import REG
from benchmarks.processes import run_case
from benchmarks.registry import NETWORKS, parser_of
from benchmarks.results import Measurement, Run, read, run_and_record

#: Plain CNNs, the smallest ones first: the four of MLPerf Tiny, and others.
CNNS = (
    "autoencoder", "ds_cnn", "resnet8", "mobilenet_v1_025", "mobilenet_v3_small", "mobilenet_v2", "resnet18",
    "shufflenet_v2", "efficientnet_b0", "inception_v3", "mobilenet_v3_large", "wav2letter", "digits", "deeplab_v3",
)  # fmt: skip
SIDES = ("ours", "rival", "litert", "deep")


def main() -> int:
    parser = parser_of("ethosu_peers", __doc__, CNNS, NETWORKS | REG, targets=list(ACCELERATORS), sides=SIDES)
    parser.add_argument("--litert", default=sys.executable, metavar="PYTHON", help="with litert-torch")
    parser.add_argument("--again", action="store_true", help="measure also what the results have")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("ethosu_peers")
    for network in options.networks:
        for side in options.sides:
            if targets := _missing(options, network, side):
                python = options.litert if side == "litert" else ""
                found = run_case("ethosu_peers_case", side, network, ",".join(targets), python)
                for target in targets:
                    metrics = found.get(target) or {"error": found.get("error", "not reached")}
                    yield run.measured({"network": network, "target": target}, side, metrics)


def _missing(options: argparse.Namespace, network: str, side: str) -> Sequence[str]:
    """The accelerators that are to be measured."""
    path: Path = options.results
    rows = [] if options.again or not path.exists() else read(path)
    had = {row.case["target"] for row in rows if (row.case["network"], row.side) == (network, side)}
    return [target for target in options.targets if target not in had]


if __name__ == "__main__":
    sys.exit(main())
