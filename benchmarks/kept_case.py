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

from arm_tosa_core import Kept, Minutes, lower, quantize_to_keep
from benchmarks.probes import cpu_seconds, recorded
from benchmarks.real.case import on_model, rolled
from benchmarks.real.network import Call, Network
from benchmarks.real.registry import ALL

_ON_MODEL_S = 60.0  # how long the delivered program runs on the functional model


def main(name: str, target: str, keep: str, minutes: str, result_path: str) -> None:
    """Runs the case and writes its figures."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    result: dict[str, Any] = {}
    with recorded(result, result_path):
        network = ALL[name].make()
        judging = rolled(network, network.held_out)
        found, figures = _kept(network, judging, target, float(keep), float(minutes))
        result |= figures
        delivered = lower(found.program, target)
        result |= {"delegates": delivered.report.delegates, "left": len(delivered.report.rejected)}
        judged = Network(network.module, (), judging, network.metric)
        result |= on_model(judged, delivered.buffer, found.program.module(), _ON_MODEL_S)


def _kept(
    network: Network, judging: Sequence[Call], target: str, keep: float, minutes: float
) -> tuple[Kept, dict[str, Any]]:
    def agree(exact: Sequence[Any], noisy: Sequence[Any], _samples: Sequence[Any]) -> float:
        return network.metric(list(map(_call, exact)), list(map(_call, noisy)))["agree"]

    program = torch.export.export(network.module, network.calibration[0])
    learned = rolled(network, network.calibration)
    start = cpu_seconds(children=True)
    found = quantize_to_keep(program, target, learned, judging, agree, keep, Minutes(minutes))
    int8, chosen = found.attempts[0], found.chosen
    return found, {
        "is_kept": found.is_kept,
        "step": chosen.step,
        "agree": chosen.verdict.value,
        "confidence": chosen.verdict.confidence,
        "recipe": {"scheme": chosen.recipe.scheme, "modules": chosen.recipe.modules, "nodes": chosen.recipe.nodes},
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
