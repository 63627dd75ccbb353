"""Numbers of masks take no range where nobody reads how large they are, and keep it where somebody does."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC, assert_matches, quantized, quantizer
from torch.nn import functional as F

from arm_tosa_core import QuantizationConfig, quantize_program

Read = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

_FIRST = torch.arange(10) < 7


def _assigned(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 8:] = -1e4
    return x.softmax(-1)


def _read_twice(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    scores = x.masked_fill(~seen, -1e4)
    return scores.softmax(-1) * (scores.argmax(-1, keepdim=True) >= 0)


#: The least signal to noise in int8 and int16x8, in dB: what they have without a mask, less two.
MASKED: dict[str, tuple[Read, float, float]] = {
    "argmax too": (_read_twice, 28, 43),
    "amax": (lambda x, seen: x.masked_fill(~seen, -1e4).amax(-1), 30, 45),
    "added, amax": (lambda x, seen: (x + (1 - seen.float()) * -1e4).amax(-1), 30, 45),
    "topk": (lambda x, seen: torch.where(seen, x, -1e4).topk(3)[0], 29, 43),
    "amin": (lambda x, seen: x.masked_fill(~seen, 1e4).amin(-1), 29, 43),
    "topk, smallest": (lambda x, seen: x.masked_fill(~seen, 1e4).topk(3, largest=False)[0], 29, 43),
    "padded, pooled": (lambda x, seen: F.max_pool1d(F.pad(x, (1, 1), value=-1e4), 3, 1), 29, 43),
    "relu": (lambda x, seen: x.masked_fill(~seen, -1e4).relu(), 29, 43),
    "exp": (lambda x, seen: x.masked_fill(~seen, -1e4).exp(), 28, 40),
    "sigmoid": (lambda x, seen: x.masked_fill(~seen, -1e4).sigmoid(), 36, 50),
    "sigmoid of positive": (lambda x, seen: x.masked_fill(~seen, 1e4).sigmoid(), 36, 50),
    "logsumexp": (lambda x, seen: x.masked_fill(~seen, -1e4).logsumexp(-1), 38, 55),
    "multiplied, added": (
        lambda x, seen: (x * _FIRST - 1e4 * (1 - _FIRST.float()) + (1 - seen.float()) * -3e38).softmax(-1),
        *(28, 43),
    ),
    "added twice": (
        lambda x, seen: (x + (1 - _FIRST.float()) * -1e4 + (1 - seen.float()) * -1e4).softmax(-1),
        *(28, 43),
    ),
    "a bias behind": (lambda x, seen: (x.masked_fill(~seen, -1e4) + torch.linspace(-1, 1, 10)).softmax(-1), 28, 43),
    "joined": (
        lambda x, seen: torch.cat([x[:, :6], x[:, 6:].masked_fill(~seen[:, 6:], -1e4)], -1).softmax(-1),
        *(29, 43),
    ),
    "padded": (lambda x, seen: F.pad(x, (0, 3), value=-1e4).softmax(-1), 29, 43),
    "assigned": (_assigned, 29, 43),
    "of positive numbers": (lambda x, seen: (x.sigmoid() + 100).masked_fill(~seen, -1e4).relu(), 50, 80),
}
#: Where how large they are is read.
READ: dict[str, Read] = {
    "a result": lambda x, seen: x.masked_fill(~seen, -1e4),
    "smallest": lambda x, seen: x.masked_fill(~seen, -1e4).topk(2, largest=False)[0],
    "mean": lambda x, seen: x.masked_fill(~seen, -1e4).mean(-1),
    "low clamp": lambda x, seen: x.masked_fill(~seen, -1e4).clamp(min=-5000.0),
    "leaky": lambda x, seen: F.leaky_relu(x.masked_fill(~seen, -1e4)),
    "largest of positive": lambda x, seen: (seen.float() * 1e4).amax(0) + x,
    "a bias": lambda x, seen: (x + 2000.0).amax(-1),
}


class _Scores(torch.nn.Module):
    def __init__(self, read: Read) -> None:
        super().__init__()
        self.read, self.layer = read, torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        return self.read(self.layer(x), seen)


def _call() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(4, 16), torch.arange(10) < torch.randint(3, 11, (4, 1))


def _decibels(read: Read, config: QuantizationConfig) -> float:
    torch.manual_seed(0)
    net, calls, held_out = _Scores(read).eval(), [_call() for _ in range(16)], [_call() for _ in range(16)]
    program = torch.export.export(net, calls[0])
    model = quantize_program(program, quantizer(SPEC, config), calls).converted
    with torch.no_grad():
        exact, got = (torch.stack([call(*inputs) for inputs in held_out]) for call in (net, model))
    return 10 * math.log10(exact.square().sum() / (exact - got).square().sum())


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_takes_no_range(name: str, config: QuantizationConfig) -> None:
    read, *least = MASKED[name]
    assert _decibels(read, config) > least[config is INT16]


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_a_number_whose_size_is_read_keeps_its_range(read: Read) -> None:
    assert _decibels(read, INT8) > 35


@pytest.mark.parametrize("name", ["amax", "added, amax", "padded", "assigned", "a bias behind"])
def test_they_lower_to_the_same_numbers(name: str) -> None:
    torch.manual_seed(0)
    inputs = _call()
    assert_matches(quantized(_Scores(MASKED[name][0]).eval(), inputs), inputs)


def test_the_graphs_of_branches_are_no_constants() -> None:
    def branched(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.relu(), lambda x: x * 2, (x,))  # type: ignore[no-any-return]

    inputs = (torch.randn(4, 6),)
    assert quantized(branched, inputs)(*inputs).shape == (4, 6)
