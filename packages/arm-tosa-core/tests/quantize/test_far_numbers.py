"""Numbers of masks take no range where nobody reads how large they are, and keep it where somebody does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC, assert_matches, quantized, quantizer
from torch.nn import functional as F

from arm_tosa_core import QuantizationConfig, quantize_program

Read = Callable[[torch.Tensor, torch.Tensor], torch.Tensor | tuple[torch.Tensor, ...]]

_FIRST = torch.arange(10) < 7
#: Of a chain of tags: the second never follows the first, and nothing is followed by the last.
_TRANSITIONS = torch.randn(10, 10, generator=torch.Generator().manual_seed(0))
_TRANSITIONS[0, 1] = _TRANSITIONS[:, 9] = -1e4


def _assigned(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, 8:] = -1e4
    return x.softmax(-1)


def _read_twice(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    scores = x.masked_fill(~seen, -1e4)
    return scores.softmax(-1) * (scores.argmax(-1, keepdim=True) >= 0)


def _steps(x: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Two steps of the best path through a chain of tags, without the tag that cannot be reached."""
    first = (x[..., None] + _TRANSITIONS).max(1)[0]
    second = ((first + x)[..., None] + _TRANSITIONS).amax(1)
    return first[:, :9], second[:, :9]


def _masked(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    return x.masked_fill(~seen, -1e4)


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
    "softmin": (lambda x, seen: F.softmin(x.abs().masked_fill(~seen, 1e4), -1), 28, 43),
    "negative, amax": (lambda x, seen: -(-x.masked_fill(~seen, 1e4)).amax(-1), 29, 43),
    "subtracted from 1": (lambda x, seen: (1 - x.masked_fill(~seen, 1e4)).softmax(-1), 28, 43),
    "transitions": (_steps, 28, 43),
    "either number": (lambda x, seen: torch.where(seen, x, torch.where(x > 0, -2e3, -3e3)).softmax(-1), 28, 43),
    "in parts": (lambda x, seen: tuple(part.softmax(-1) for part in _masked(x, seen)[:, :3].split(2, -1)), 28, 43),
    "less the largest": (lambda x, seen: ((y := _masked(x, seen)) - y.amax(-1, keepdim=True)).exp(), 28, 43),
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

#: Where one reader reads how large they are, and another does not.
BOTH: dict[str, Read] = {
    "returned": lambda x, seen: ((y := _masked(x, seen)), y.softmax(-1)),
    "chosen": lambda x, seen: ((y := torch.where(seen, x, torch.tensor(-1e4))), y.softmax(-1), x * 2),
    "added": lambda x, seen: ((y := x + (1 - seen.float()) * -1e4), y.softmax(-1), y.amax(-1)),
    "log_softmax": lambda x, seen: ((y := _masked(x, seen)).log_softmax(-1), y.logsumexp(-1)),
    "sorted": lambda x, seen: ((y := _masked(x, seen).sort(-1, descending=True)[0]), y.exp()),
    "transitions": lambda x, seen: ((y := x[..., None] + _TRANSITIONS), y[..., :9].amax(1)),
}


class _Scores(torch.nn.Module):
    def __init__(self, read: Read) -> None:
        super().__init__()
        self.read, self.layer = read, torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return self.read(self.layer(x), seen)


def _call() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(4, 16), torch.arange(10) < torch.randint(3, 11, (4, 1))


def _decibels(read: Read, config: QuantizationConfig) -> float:
    """Signal to noise of the worst result."""
    torch.manual_seed(0)
    net, calls, held_out = _Scores(read).eval(), [_call() for _ in range(16)], [_call() for _ in range(16)]
    program = torch.export.export(net, calls[0])
    model = quantize_program(program, quantizer(SPEC, config), calls).converted
    with torch.no_grad():
        exact, got = (
            list(zip(*(_results(call(*inputs)) for inputs in held_out), strict=True)) for call in (net, model)
        )
    return min(map(_signal_to_noise, exact, got))


def _results(given: torch.Tensor | tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return (given,) if isinstance(given, torch.Tensor) else tuple(given)


def _signal_to_noise(exact: Sequence[torch.Tensor], got: Sequence[torch.Tensor]) -> float:
    signal, noise = torch.stack([*exact]), torch.stack([*exact]) - torch.stack([*got])
    return 10 * math.log10(signal.square().sum() / noise.square().sum())


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_takes_no_range(name: str, config: QuantizationConfig) -> None:
    read, *least = MASKED[name]
    assert _decibels(read, config) > least[config is INT16]


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_a_number_whose_size_is_read_keeps_its_range(read: Read) -> None:
    assert _decibels(read, INT8) > 35


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize("read", BOTH.values(), ids=BOTH)
def test_each_reader_has_what_it_reads(read: Read, config: QuantizationConfig) -> None:
    assert _decibels(read, config) > (43 if config is INT16 else 28)


@pytest.mark.parametrize(
    "read",
    [*(MASKED[name][0] for name in ("amax", "added, amax", "padded", "assigned", "a bias behind")), *BOTH.values()],
)
def test_they_lower_to_the_same_numbers(read: Read) -> None:
    torch.manual_seed(0)
    inputs = _call()
    assert_matches(quantized(_Scores(read).eval(), inputs), inputs)


def test_the_graphs_of_branches_are_no_constants() -> None:
    def branched(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.relu(), lambda x: x * 2, (x,))  # type: ignore[no-any-return]

    inputs = (torch.randn(4, 6),)
    assert quantized(branched, inputs)(*inputs).shape == (4, 6)
