"""One trained network by ``quantize_to_keep``, in a process of its own.

Usage: python -m benchmarks.kept_case NETWORK TARGET KEEP MINUTES RESULT, a JSON file of figures.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from arm_tosa_core import Minutes, quantize_to_keep
from benchmarks.probes import cpu_seconds, recorded
from benchmarks.real.case import rolled
from benchmarks.real.network import Call, Network
from benchmarks.real.registry import NETWORKS


def main(name: str, target: str, keep: str, minutes: str, result_path: str) -> None:
    """Runs the case and writes its figures."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    result: dict[str, Any] = {}
    with recorded(result, result_path):
        network = NETWORKS[name].make()
        result |= _kept(network, target, float(keep), float(minutes))


def _kept(network: Network, target: str, keep: float, minutes: float) -> dict[str, Any]:
    def agree(exact: Sequence[Any], noisy: Sequence[Any], _samples: Sequence[Any]) -> float:
        return network.metric(list(map(_call, exact)), list(map(_call, noisy)))["agree"]

    program = torch.export.export(network.module, network.calibration[0])
    learned, judging = rolled(network, network.calibration), rolled(network, network.held_out)
    start = cpu_seconds(children=True)
    found = quantize_to_keep(program, target, learned, judging, agree, keep, Minutes(minutes))
    int8, chosen = found.attempts[0], found.chosen
    return {
        "is_kept": found.is_kept,
        "step": chosen.step,
        "agree": chosen.verdict.value,
        "confidence": chosen.verdict.confidence,
        "cycles": chosen.cycles,
        "times_int8": round(chosen.cycles / int8.cycles, 3),
        "int8_agree": int8.verdict.value,
        "int8_cycles": int8.cycles,
        "left_out": dict(found.left_out),
        "cpu_s": round(cpu_seconds(children=True) - start, 1),
        "seconds": round(sum(attempt.seconds for attempt in found.attempts), 1),
    }


def _call(made: Any) -> Call:
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


if __name__ == "__main__":
    main(*sys.argv[1:])
