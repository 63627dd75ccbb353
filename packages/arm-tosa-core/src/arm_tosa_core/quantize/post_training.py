"""Post-training quantization in one call: prepare, calibrate, convert, correct biases."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from ..errors import UsageError
from .bias import SAMPLES, Sample, correct_biases
from .quantizer import TOSAQuantizer


@dataclass(frozen=True)
class Quantized:
    """A calibrated model: ``prepared`` still computes in float, ``converted`` is what is exported and lowered."""

    prepared: GraphModule
    converted: GraphModule


def quantize_program(
    program: ExportedProgram,
    quantizer: TOSAQuantizer,
    samples: Iterable[Sample],
    *,
    bias_correction: bool = True,
    progress: Callable[[int], None] = lambda done: None,
) -> Quantized:
    """Quantizes a float program.

    Args:
        program: of ``torch.export``; it is left as it is.
        samples: calls of the model, each arguments and keyword arguments; read once.
        bias_correction: see ``bias.correct_biases``.
        progress: called after each sample with their number so far.

    Raises:
        UsageError: there is no sample.
    """
    prepared = prepare_pt2e(program.module(), quantizer)
    first: list[Sample] = []
    done = 0
    with torch.no_grad():
        for sample in samples:
            prepared(*sample[0], **sample[1])
            first = first if len(first) >= SAMPLES else [*first, sample]
            done += 1
            progress(done)
    if not done:
        raise UsageError("calibration data is empty: give one sample at least")
    floating = copy.deepcopy(prepared)  # this one runs only: the annotations of a copy name nodes of the original
    converted = convert_pt2e(prepared)
    if bias_correction:
        correct_biases(floating, converted, first)
    return Quantized(floating, converted)
