"""A network as an int8 ``.tflite`` by LiteRT's own flow, litert-torch and ai-edge-quantizer, in their own environment.

Usage: python -m benchmarks.litert_case NETWORK FILE. Inputs stay in PyTorch's order of axes, and float at the edges;
static quantization of weights per channel and activations, calibrated with the samples that the other sides have. Needs
``pip install torch==2.13.0 torchao==0.18.0 litert-torch ai-edge-quantizer``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import litert_torch
from ai_edge_quantizer import quantizer, recipe

from benchmarks.registry import network

_SEEDS = range(4)


def main(name: str, path: str) -> None:
    module, inputs = network(name)
    converted = litert_torch.convert(module, inputs(0))
    with tempfile.TemporaryDirectory(prefix="bench_litert_") as folder:
        plain = Path(folder, "float.tflite")
        converted.export(str(plain))
        work = quantizer.Quantizer(str(plain), recipe.static_wi8_ai8())
        samples = [{f"args_{i}": value.numpy() for i, value in enumerate(inputs(seed))} for seed in _SEEDS]
        work.quantize(work.calibrate({"serving_default": samples})).export_model(path, overwrite=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
