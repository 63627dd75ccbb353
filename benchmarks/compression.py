"""Bytes, cycles and accuracy on held-out data of networks whose weights were compressed, and as they were.

    python -m benchmarks.compression
    python -m benchmarks.compression --networks resnet8 --targets ethos-u55-128 --loss 0 0.5 1

Each network has random weights and is quantized with 32 random samples; what ``quantize_program(compression=DB)`` says
of the loss is told beside the SQNR of the worst output on 16 other samples. Bytes are the constants of the layers by
Vela's encoder, cycles Vela's estimate of the whole network.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_ethosu.accelerators import ACCELERATORS
from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.compat.torch import tree_leaves
from benchmarks.registry import NETWORKS, network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

_SAMPLES = 32
_HELD_OUT = range(1000, 1016)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--networks", nargs="+", choices=sorted(NETWORKS), default=["mobilenet_v1_025", "resnet8", "ds_cnn"]
    )
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=["ethos-u55-128", "ethos-u85-256"])
    parser.add_argument("--loss", nargs="+", type=float, default=[0.5], metavar="DB", help="that is allowed")
    add_results_option(parser, "compression")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), lambda rows: [])


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("compression")
    for name in options.networks:
        for accelerator in options.targets:
            for loss in (None, *options.loss):
                side = "plain" if loss is None else f"compressed-{loss:g}dB"
                yield run.measured({"network": name, "target": accelerator}, side, _metrics(name, accelerator, loss))


def _metrics(name: str, accelerator: str, loss: float | None) -> dict[str, Any]:
    module, inputs = network(name)
    spec = EthosUCompileSpec(accelerator)
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
    program = torch.export.export(module, inputs(0))
    made = quantize_program(program, quantizer, [inputs(seed) for seed in range(_SAMPLES)], compression=loss)
    held_out = [inputs(seed) for seed in _HELD_OUT]
    compiled = lower(torch.export.export(made.converted, inputs(0)), spec).report.compiled
    found = {
        "cycles": sum(said.figures["cycles"] for said in compiled),
        "sqnr_db": round(_sqnr(module, made.converted, held_out), 2),
    }
    if made.compressed is None:
        return found
    return found | {
        "bytes_plain": made.compressed.before,
        "bytes": made.compressed.after,
        "loss_db": round(made.compressed.loss_db, 2),
        "error_db": round(made.compressed.error_db, 2),
    }


def _sqnr(exact: torch.nn.Module, noisy: torch.nn.Module, samples: Sequence[tuple[Any, ...]]) -> float:
    """Of the worst output, dB."""
    with torch.no_grad():
        pairs = [(tree_leaves(exact(*x)), tree_leaves(noisy(*x))) for x in samples]
    signal = [sum(float(y.square().sum()) for y in row) for row in zip(*(a for a, _ in pairs), strict=True)]
    errors = ([a - b for a, b in zip(*pair, strict=True)] for pair in pairs)
    noise = [sum(float(y.square().sum()) for y in row) for row in zip(*errors, strict=True)]
    return min(10 * math.log10(s / n) for s, n in zip(signal, noise, strict=True))


if __name__ == "__main__":
    sys.exit(main())
