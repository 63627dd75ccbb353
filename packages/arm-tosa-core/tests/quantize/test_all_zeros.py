"""Inputs and results of which calibration shows nothing but zeros are named."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

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


def _said(
    net: torch.nn.Module, samples: Sequence[tuple[torch.Tensor, ...]], config: QuantizationConfig, **exported: Any
) -> list[str]:
    program = torch.export.export(net, samples[0], **exported)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quantize_program(program, quantizer(config=config), samples)
    return [str(w.message) for w in found if w.category is AllZerosWarning]


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen, self.state = torch.nn.Linear(4, 6), torch.nn.Linear(6, 6, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = x.new_zeros(x.shape[0], 6)
        for step in range(3):
            state = torch.tanh(self.seen(x[:, step]) + self.state(state))
        return state


class Lstm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(4, 6, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps: torch.Tensor = self.layer(x)[0]
        return steps


class Remembers(torch.nn.Module):
    """Its state stays 0."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(2, 3, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = torch.tanh(x + self.state)
        self.state.mul_(0.5)
        return result


class Of(torch.nn.Module):
    """A function."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        return self.function(*args)


def _scan(x: torch.Tensor) -> torch.Tensor:
    """A selective scan: what is multiplied by the state depends on the input."""
    state, results = x.new_zeros(2, 4, 6), []
    for step in range(3):
        now = x[:, step, :, None]
        state = torch.exp(now * torch.ones(4, 6)) * state + now
        results.append(state.sum(-1))
    return torch.stack(results, 1)


def _discounted(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(2)
    for step in range(3):
        total = total * 0.9 + x[:, step, 0]
    return total


def _overwritten(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[:, :] = 0
    return y + x


def _softmax_by_blocks(x: torch.Tensor) -> torch.Tensor:
    top, total = torch.full((2, 3, 1), -1e30), torch.zeros(2, 3, 1)
    for block in x.split(2, -1):
        new = torch.maximum(top, block.amax(-1, keepdim=True))
        total = total * (top - new).exp() + (block - new).exp().sum(-1, keepdim=True)
        top = new
    return total


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize(
    "net",
    [
        Recurrent(),
        Lstm(),
        *map(
            Of,
            [
                _scan,
                _discounted,
                _overwritten,
                _softmax_by_blocks,
                lambda x: x[:, :0].sum(1) + x[:, 0],
                lambda x: (x * 0 + x).relu(),
                lambda x: x - x + x.exp(),
                lambda x: torch.cat([torch.zeros(2, 3, 4), torch.zeros_like(x)], -1) @ torch.ones(8, 4) + x,
                lambda x: torch.zeros(4) / x.exp() + x,
            ],
        ),
    ],
    ids=lambda net: getattr(getattr(net, "function", None), "__name__", type(net).__name__),
)
def test_what_is_0_for_all_samples_is_no_news(net: torch.nn.Module, config: QuantizationConfig) -> None:
    torch.manual_seed(0)
    assert _said(net, [(torch.randn(2, 3, 4),) for _ in range(3)], config) == []


def test_what_is_0_for_all_samples_is_no_news_where_sizes_vary() -> None:
    samples = [(torch.randn(2, 3, 4),) for _ in range(3)]
    assert _said(Recurrent(), samples, INT8, dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=8)},)) == []


_ONES = torch.ones(2, 3, 4, dtype=torch.bool)


@pytest.mark.parametrize(
    ("net", "more", "name"),
    [
        (Of(lambda x, mask: x + (~mask).float()), (_ONES,), "to"),
        (Of(lambda x, mask: (x + mask.float().log()).softmax(-1)), (_ONES,), "log"),
        (Of(lambda x: (x - 100).relu() + x), (), "relu"),
        (Of(lambda x: torch.maximum(x - 100, torch.zeros(4)) + x), (), "maximum"),
        (Remembers(), (), "'state'"),
    ],
    ids=["mask", "logarithm", "relu", "maximum", "state"],
)
def test_what_other_samples_would_change_is_news(
    net: torch.nn.Module, more: tuple[torch.Tensor, ...], name: str
) -> None:
    torch.manual_seed(0)
    (text,) = _said(net, [(torch.randn(2, 3, 4), *more) for _ in range(3)], INT8)
    assert name in text


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
