"""One case of ``accuracy.py`` in a process of its own: quantize one network with one side, and compare with float.

Usage: python -m benchmarks.accuracy_case SIDE NETWORK REGISTRY RESULT. RESULT is a JSON file of figures.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch

from benchmarks.probes import cpu_seconds, recorded
from benchmarks.registry import network
from benchmarks.sides import SIDES

_CALIBRATION_SEED = 1
#: The inputs of each figure: two are what is judged, the others show what of that is chance.
_TEST_SEEDS = {"sqnr_db": range(2, 4), "others_db": range(4, 12)}

Inputs = Callable[[int], tuple[torch.Tensor, ...]]


def main(side: str, name: str, registry: str, result_path: str) -> None:
    """Runs the case and writes its figures; an exception becomes the figure ``error``."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    result: dict[str, Any] = {}
    with recorded(result, result_path):
        result |= _measure(side, *network(name, registry))


def _measure(side_name: str, module: torch.nn.Module, inputs: Inputs) -> dict[str, Any]:
    """CPU seconds of quantizing, and the error on inputs that calibration did not see."""
    side = SIDES[side_name]()
    quantizer = side.quantizer("tosa-int", side.compile_spec("tosa-int"))
    inputs_seen = inputs(_CALIBRATION_SEED)
    program = torch.export.export(module, inputs_seen)
    start = cpu_seconds(children=True)
    quantized = side.quantize(program, quantizer, [inputs_seen])
    seconds = cpu_seconds(children=True) - start
    figures = {name: _sqnr(module, quantized, map(inputs, seeds)) for name, seeds in _TEST_SEEDS.items()}
    return {"quantize_s": seconds, **figures}


def _sqnr(exact: torch.nn.Module, quantized: torch.nn.Module, inputs: Iterable[tuple[torch.Tensor, ...]]) -> float:
    signal = noise = 0.0
    with torch.no_grad():
        for args in inputs:
            wanted, got = exact(*args).double(), quantized(*args).double()
            signal += float((wanted**2).sum())
            noise += float(((wanted - got) ** 2).sum())
    return 10 * math.log10(signal / noise)


if __name__ == "__main__":
    main(*sys.argv[1:])
