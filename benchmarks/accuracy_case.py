"""One case of ``accuracy.py`` in a process of its own: quantize one network with one side, and compare with float.

Usage: python accuracy_case.py SIDE MODEL REGISTRY RESULT. REGISTRY is a Python file with ``REG`` (name to a function
that returns a module and a function from a seed to example inputs) and perhaps ``bn_warm(module, inputs)``, or
``tests`` for ``tests/models``.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import torch

from probes import cpu_seconds, recorded
from sides import SIDES

_CALIBRATION_SEED = 1
#: The inputs of each figure: two are what is judged, the others show what of that is chance.
_TEST_SEEDS = {"sqnr_db": range(2, 4), "others_db": range(4, 12)}

Inputs = Callable[[int], tuple[torch.Tensor, ...]]


def main(side_name: str, model: str, registry: str, result_path: str) -> None:
    """Runs the case and writes its figures; an exception becomes the field ``error``."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    result: dict[str, Any] = {"side": side_name, "model": model}
    with recorded(result, result_path):
        result |= _measure(side_name, *_network(model, registry))


def _network(model: str, registry: str) -> tuple[torch.nn.Module, Inputs]:
    if registry == "tests":
        from models import MODELS

        return MODELS[model]()
    spec = importlib.util.spec_from_file_location("registry", registry)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network, inputs = module.REG[model]()
    if hasattr(module, "bn_warm"):
        module.bn_warm(network, inputs)
    return network, inputs


def _measure(side_name: str, network: torch.nn.Module, inputs: Inputs) -> dict[str, Any]:
    """CPU seconds of quantizing, and the error on inputs that calibration did not see."""
    side = SIDES[side_name]()
    quantizer = side.quantizer("tosa-int", side.compile_spec("tosa-int"))
    inputs_seen = inputs(_CALIBRATION_SEED)
    program = torch.export.export(network, inputs_seen)
    start = cpu_seconds(children=True)
    quantized = side.quantize(program, quantizer, inputs_seen)
    seconds = cpu_seconds(children=True) - start
    figures = {name: _sqnr(network, quantized, map(inputs, seeds)) for name, seeds in _TEST_SEEDS.items()}
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
