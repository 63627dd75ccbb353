"""What the examples with trained networks share: quantize and compile a network for Ethos-U, run it, compare.

A program runs here on the functional model of the accelerator that arm-runtime-cpp brings, which computes what the
hardware computes. On a board the same ``.pte`` runs with ExecuTorch's own delegate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  # quantize and dequantize at the program's edges
import torch
from executorch.runtime import Runtime

import arm_runtime  # noqa: F401  # registers the delegates
from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.exir.figures import Figures

Call = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Compiled:
    """A network on the accelerator: ``run`` takes and returns float tensors, one call after the other."""

    run: Callable[..., Call]
    figures: Figures
    program: bytes  # the .pte; ExecuTorch reads it while it runs, so it must live as long

    def __str__(self) -> str:
        f = self.figures
        return (
            f"{f.cycles:,.0f} cycles by Vela's estimate, {f.file_bytes / 1024:.0f} KiB, {f.on_cpu} operators on the CPU"
        )


def compile_network(
    network: torch.nn.Module, calibration: Sequence[Call], target: str, states: Mapping[str, int] | None = None
) -> Compiled:
    """Quantizes to int8 with typical calls of the network and lowers it for one call at a time.

    Args:
        network: in eval mode.
        calibration: arguments of calls; with ``states`` they are one sequence.
        target: such as ``ethos-u55-128``; ``arm-tosa targets`` lists them.
        states: of each input that is what the call before returned, which output it is.
    """
    spec = EthosUCompileSpec(target)
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
    exported = torch.export.export(network, calibration[0])
    quantized = quantize_program(exported, quantizer, calibration, states=states)
    lowered = lower(torch.export.export(quantized.converted, calibration[0]), spec)
    buffer = lowered.buffer
    method = Runtime.get().load_program(buffer).load_method("forward")

    def run(*arguments: torch.Tensor) -> Call:
        # Contiguous: the program reads its inputs row by row, however a view of a tensor lies in memory.
        return tuple(output.clone() for output in method.execute([x.contiguous() for x in arguments]))

    return Compiled(run, lowered.figures, buffer)


def sqnr_db(exact: torch.Tensor, other: torch.Tensor) -> float:
    """Power of the float network's numbers over the power of the error, in dB."""
    return 10 * math.log10(float(exact.square().sum() / (exact - other).square().sum().clamp_min(1e-30)))


def packaged(package: str, path: str) -> Path:
    """A file of an installed package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise SystemExit(f"{package} is missing: python -m pip install --no-deps -r examples/requirements.txt")
    return Path(spec.submodule_search_locations[0], path)
