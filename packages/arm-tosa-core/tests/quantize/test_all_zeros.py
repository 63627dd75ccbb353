"""Inputs and results of which calibration shows nothing but zeros are named."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest
import torch
from quantizer_kit import INT8, INT16, quantizer

from arm_tosa_core import QuantizationConfig, quantize_program
from arm_tosa_core.support.errors import AllZerosWarning


class Masked(torch.nn.Module):
    """Scores, of which a mask of ones and zeros leaves some."""

    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (scores + (1.0 - mask) * -10000.0).softmax(-1)


class Stepped(torch.nn.Module):
    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x + state)


def _said(net: torch.nn.Module, samples: Sequence[tuple[torch.Tensor, ...]], config: QuantizationConfig) -> list[str]:
    program = torch.export.export(net, samples[0])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quantize_program(program, quantizer(config=config), samples)
    return [str(w.message) for w in found if w.category is AllZerosWarning]


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
def test_a_mask_that_masks_nothing_is_named_with_its_line(config: QuantizationConfig) -> None:
    (text,) = _said(Masked(), [(torch.randn(2, 8), torch.ones(2, 8)) for _ in range(3)], config)
    assert text.startswith("no sample has a number other than 0 of 'rsub' (")
    assert "test_all_zeros.py:" in text
    assert "mul" not in text  # what is made of it is no news
    assert "a mask that masks something" in text


def test_a_mask_that_masks_something_in_one_sample_is_enough() -> None:
    masks = [torch.ones(2, 8), torch.ones(2, 8).tril(), torch.ones(2, 8)]
    assert _said(Masked(), [(torch.randn(2, 8), mask) for mask in masks], INT8) == []


def test_inputs_are_named() -> None:
    (text,) = _said(Stepped(), [(torch.randn(2, 8), torch.zeros(2, 8)) for _ in range(3)], INT8)
    assert text.startswith("no sample has a number other than 0 of input 'state': the quantized model takes every")
