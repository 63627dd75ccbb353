"""Networks through ONNX on Ethos-U, beside the same network from PyTorch: accuracy, cycles and SRAM in int8.

    python -m benchmarks.onnx_networks
    python -m benchmarks.onnx_networks --networks ds_cnn --targets ethos-u55-128 --sides pytorch qdq

Each network goes four ways (sides): ``pytorch`` is torch.export and our quantizer; ``onnx`` is torch.onnx.export, our
reader and our quantizer; ``qdq`` and ``qoperator`` are that file quantized by ONNX Runtime, in its two formats, int8
with a scale for each channel of weights, and read as it is. All are calibrated with the same samples and judged on
others: ``sqnr_db`` is the float network's signal over the noise, of the quantized program in PyTorch; ``runtime_db`` of
the quantized file in ONNX Runtime. Cycles and SRAM are Vela's estimates, ``left`` counts operators on the CPU.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram

from benchmarks.registry import network, parser_of
from benchmarks.results import Measurement, Run, run_and_record

SIDES = ("pytorch", "onnx", "qdq", "qoperator")
CHOSEN = ("digits", "ds_cnn", "resnet8", "mobilenet_v1_025")
TARGETS = ("ethos-u55-128", "ethos-u85-256")
_CALIBRATION, _JUDGING = range(8), range(8, 40)
Inputs = tuple[torch.Tensor, ...]
Samples = Sequence[Inputs]


def main() -> int:
    parser = parser_of("onnx_networks", __doc__, CHOSEN, sides=SIDES)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("onnx_networks")
    for name in options.networks:
        module, inputs = network(name)
        calls = [[inputs(seed) for seed in seeds] for seeds in (_CALIBRATION, _JUDGING)]
        for side in options.sides:
            with tempfile.TemporaryDirectory(prefix="bench_onnx_") as folder:
                try:
                    program, found = _quantized(side, module, calls[0], calls[1], Path(folder))
                except Exception as error:
                    program, found = None, {"error": f"{type(error).__name__}: {error}"[:300]}
            for target in options.targets:
                figures = {} if program is None else _compiled(program, target)
                yield run.measured({"network": name, "target": target}, side, {**found, **figures})


def _quantized(
    side: str, module: torch.nn.Module, calibration: Samples, judging: Samples, folder: Path
) -> tuple[ExportedProgram, dict[str, float]]:
    """The program, and how far it is from the module."""
    from arm_tosa_core import load_model

    figures = {}
    if side == "pytorch":
        program = _by_us(torch.export.export(module, calibration[0]), calibration)
    else:
        path = folder / "net.onnx"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the exporter, about itself
            torch.onnx.export(module, calibration[0], str(path), dynamo=False, opset_version=17)
        if side == "onnx":
            program = _by_us(load_model(path), calibration)
        else:
            path = _by_runtime(path, side, calibration)
            program = load_model(path)
            figures["runtime_db"] = _sqnr(module, _in_runtime(path), judging)
    return program, {"sqnr_db": _sqnr(module, program.module(), judging), **figures}


def _by_us(program: ExportedProgram, calibration: Samples) -> ExportedProgram:
    from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
    from arm_tosa_core import get_symmetric_quantization_config, quantize_program

    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(get_symmetric_quantization_config())
    return torch.export.export(quantize_program(program, quantizer, calibration).converted, calibration[0])


def _by_runtime(path: Path, side: str, calibration: Samples) -> Path:
    """The file as ONNX Runtime quantizes it."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        """Samples by the names of the file's inputs."""

        def __init__(self) -> None:
            names = [one.name for one in onnx.load(path).graph.input]
            self.samples = iter([dict(zip(names, map(_array, call), strict=True)) for call in calibration])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.samples, None)

    prepared, made = path.with_name("prepared.onnx"), path.with_name("quantized.onnx")
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    quantize_static(
        str(prepared),
        str(made),
        Reader(),
        quant_format=QuantFormat.QDQ if side == "qdq" else QuantFormat.QOperator,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    return made


def _in_runtime(path: Path) -> Callable[..., torch.Tensor]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    session = onnxruntime.InferenceSession(str(path), options)
    names = [one.name for one in session.get_inputs()]
    return lambda *inputs: torch.from_numpy(session.run(None, dict(zip(names, map(_array, inputs), strict=True)))[0])


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.contiguous().numpy()


def _sqnr(exact: torch.nn.Module, quantized: Callable[..., Any], samples: Samples) -> float:
    """Of the first outputs, dB."""
    signal = noise = 0.0
    with torch.no_grad():
        for inputs in samples:
            wanted, made = (_first(of(*inputs)).double() for of in (exact, quantized))
            signal += float((wanted**2).sum())
            noise += float(((wanted - made) ** 2).sum())
    return round(10 * math.log10(signal / noise), 2)


def _first(outputs: Any) -> torch.Tensor:
    return outputs if isinstance(outputs, torch.Tensor) else outputs[0]


def _compiled(program: ExportedProgram, target: str) -> dict[str, Any]:
    from arm_ethosu import EthosUCompileSpec
    from arm_tosa_core import lower

    try:
        figures = lower(program, EthosUCompileSpec(target), cache=False).figures
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    assert figures.sram_bytes is not None
    return {"cycles": figures.cycles, "sram_kib": figures.sram_bytes / 1024, "left": figures.on_cpu}


if __name__ == "__main__":
    sys.exit(main())
