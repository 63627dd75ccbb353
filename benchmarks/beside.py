"""Vela's cycles of networks, and the CPU time of compiling them, by the rewrites of this checkout and of another one.

    git worktree add --detach /tmp/before main
    python -m benchmarks.beside /tmp/before
    python -m benchmarks.beside /tmp/before --networks bert_tiny --targets ethos-u85-1024
    python -m benchmarks.beside /tmp/before --networks --trained speech_quality_p808

Each network is quantized with one sample and lowered by this checkout, once for each family of targets; both checkouts
legalize and compile these graphs, from an empty cache. Fails where the cycles of a network rise by more than 0.1 %.
CPU time of legalizing includes what Vela is asked for choices; that of lowering before it is not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.accelerators import ACCELERATORS
from benchmarks.lowered_graphs import lowering, trained
from benchmarks.processes import environment
from benchmarks.registry import NETWORKS, Network
from benchmarks.results import ROOT, Measurement, Run, add_results_option, commit_of, run_and_record

DEFAULT = (
    "bert_tiny", "vit", "segformer", "swin", "mobilevit", "whisper_encoder", "wav2vec2", "conformer", "t5_encoder",
    "clip_text", "unet", "vae_encoder", "shufflenet_v2", "convnext", "deeplab_v3", "mobilenet_v2", "resnet18",
    "inception_v3", "ds_cnn", "deit_tiny",
)  # fmt: skip
TARGETS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256", "ethos-u85-1024")
#: What may be lost: the estimate of a part tells that of the whole only so well.
TOLERANCE = 0.001
_PACKAGES = ("arm-tosa-core", "arm-ethosu")
_LIMIT = 3600.0  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="of another commit")
    parser.add_argument("--networks", nargs="*", choices=sorted(NETWORKS), default=DEFAULT)
    parser.add_argument("--trained", nargs="+", default=(), help="of benchmarks.real, with its packages")
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    add_results_option(parser, "beside")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), _Worse())


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("beside", command="python -m benchmarks.beside CHECKOUT")
    before = commit_of(options.checkout)
    for name in (*options.networks, *options.trained):
        made = trained(name) if name in options.trained else None
        with tempfile.TemporaryDirectory(prefix="bench_beside_") as folder:
            orders = _orders(name, made, options.targets, Path(folder))
            for side, root in (("before", options.checkout), ("ours", ROOT)):
                for (target, _), metrics in zip(orders, _by(root, orders, Path(folder)), strict=True):
                    case = {"network": name, "target": target, "before": before}
                    yield run.measured(case, side, metrics)


def _orders(name: str, made: Network | None, targets: list[str], folder: Path) -> list[tuple[str, list[str]]]:
    """The files of a network's graphs for each target."""
    lowered, orders = lowering(name, made), []
    for accelerator in targets:
        files = []
        for number, tosa in enumerate(lowered(EthosUCompileSpec(accelerator).target())):
            files.append(folder / f"{accelerator}-{number}.tosa")
            files[-1].write_bytes(tosa)
        orders.append((accelerator, list(map(str, files))))
    return orders


def _by(root: Path, orders: list[tuple[str, list[str]]], folder: Path) -> Iterator[dict[str, float]]:
    """What one checkout makes of them."""
    wanted, results = folder / "orders.json", folder / "results.jsonl"
    wanted.write_text(json.dumps(orders))
    results.unlink(missing_ok=True)
    path = os.pathsep.join(str(root.resolve() / "packages" / name / "src") for name in _PACKAGES)
    command = [sys.executable, str(ROOT / "benchmarks" / "beside_case.py"), str(wanted), str(results)]
    subprocess.run(command, env={**environment(), "PYTHONPATH": path}, cwd=folder, timeout=_LIMIT, check=True)
    yield from map(json.loads, results.read_text().splitlines())


class _Worse:
    """Compares each network with what the other checkout makes of it."""

    def __init__(self) -> None:
        self._before: dict[str, float] = {}

    def __call__(self, measurement: Measurement) -> str:
        key, cycles = str(measurement.case), measurement.metrics["cycles"]
        before = self._before.setdefault(key, cycles)
        return f"{cycles} cycles in place of {before}" if cycles > before * (1 + TOLERANCE) else ""


if __name__ == "__main__":
    sys.exit(main())
