"""Numbers that a softmax does not tell apart, such as those of masks, take no range from the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC, assert_matches, quantized, quantizer
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

from arm_tosa_core import QuantizationConfig, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.testing.case import Apply

Mask = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _by_truths(scores: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    return torch.where(seen, scores, -math.inf)


def _inverted(scores: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """As Transformers expands masks: the truth of numbers that share a scale with the mask decides."""
    other = 1.0 - seen.float()
    return scores + other.masked_fill(other.bool(), torch.finfo(torch.float32).min)


#: Ways to write down which of the keys count.
MASKS: dict[str, Mask] = {
    "added -100": lambda s, seen: s + (1 - seen.float()) * -100.0,
    "added -10000": lambda s, seen: s + (1 - seen.float()) * -1e4,
    "filled -10000": lambda s, seen: s.masked_fill(~seen, -1e4),
    "filled -1e9": lambda s, seen: s.masked_fill(~seen, -1e9),
    "chosen": lambda s, seen: torch.where(seen, s, torch.full_like(s, -1e4)),
    "filled by a tensor": lambda s, seen: s.masked_fill(~seen, torch.tensor(-1e4)),
    "filled twice": lambda s, seen: s.masked_fill(~seen, -1e4).masked_fill(seen.logical_not(), -1e5),
    "scaled": lambda s, seen: (s * 2).masked_fill(~seen, -1e4) / 2.0,
    "chosen first": lambda s, seen: torch.where(~seen, torch.tensor(-1e4), s),
    "reshaped": lambda s, seen: (s + (1 - seen.float()) * -1e4).reshape(-1, *s.shape[-2:]),
    "filled, reshaped": lambda s, seen: s.masked_fill(~seen, -1e4).reshape(-1, *s.shape[-2:]),
}
#: And ways to make that apart, without a look at how large the scores are.
APART: dict[str, Mask] = {
    "filled": lambda s, seen: s + torch.zeros_like(seen.float()).masked_fill(~seen, -math.inf),
    "chosen": lambda s, seen: s + torch.where(seen, 0.0, -math.inf),
    "subtracted": lambda s, seen: s - torch.where(seen, 0.0, 1e9),
    "multiplied": lambda s, seen: s * seen.float() - 1e9 * (1 - seen.float()),
    "of zeros and ones": lambda s, seen: s + (seen.float() - 1) * 1e9,
    "inverted": _inverted,
}


class Attention(torch.nn.Module):
    """Queries, keys as their own values, and a row of keys that count."""

    def __init__(self, mask: Mask, large: float) -> None:
        super().__init__()
        self.mask, self.large = mask, large

    def forward(self, q: torch.Tensor, k: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        scores = self.mask(q @ k.transpose(-1, -2) * self.large, seen[:, None, None])
        return scores.softmax(-1).reshape(*q.shape[:-1], -1) @ k


def _calls(count: int, least: int, seed: int) -> list[tuple[torch.Tensor, ...]]:
    random = torch.Generator().manual_seed(seed)
    calls = []
    for _ in range(count):
        lengths = torch.randint(least, 13, (2, 1), generator=random)
        q, k = torch.randn(2, 2, 2, 12, 8, generator=random)
        calls.append((q, k, torch.arange(12)[None] < lengths))
    return calls


def _decibels(mask: Mask, large: float, config: QuantizationConfig, least: int = 4) -> float:
    """Signal to noise of quantized attention to 12 keys, calibrated with calls in which at least so many count."""
    net = Attention(mask, large)
    calls, held_out = _calls(6, least, 0), _calls(6, 4, 1)
    program = torch.export.export(net, calls[0])
    model = quantize_program(program, quantizer(SPEC, config), calls).converted
    exact, got = (torch.stack([call(*inputs) for inputs in held_out]) for call in (net, model))
    return 10 * math.log10(exact.square().sum() / (exact - got).square().sum())


_of_truths = cache(partial(_decibels, _by_truths))


@pytest.mark.parametrize("config", [INT8, INT16], ids=["int8", "int16"])
@pytest.mark.parametrize(
    ("mask", "large"),
    [*((mask, 0.35) for mask in MASKS.values()), *((mask, 6.0) for mask in APART.values())],
    ids=[*MASKS, *(f"apart {name}" for name in APART)],
)
def test_a_mask_of_numbers_costs_no_more_than_one_of_truths(
    mask: Mask, large: float, config: QuantizationConfig
) -> None:
    assert _decibels(mask, large, config) > max(_of_truths(large, config) - 3, 18 if config is INT8 else 35)


@pytest.mark.parametrize("name", ["filled -10000", "filled -1e9", "chosen", "filled, reshaped"])
def test_a_mask_has_room_where_calibration_has_masked_nothing(name: str) -> None:
    assert _decibels(MASKS[name], 0.35, INT8, least=12) > 22


def _noise(function: Callable[..., torch.Tensor], make: Callable[[], tuple[torch.Tensor, ...]]) -> float:
    """Signal to noise in int8, for other numbers than those of calibration."""
    torch.manual_seed(0)
    calls, held_out, net = [make() for _ in range(6)], [make() for _ in range(6)], Apply(function)
    model = quantize_program(torch.export.export(net, calls[0]), quantizer(SPEC, INT8), calls).converted
    exact, got = (torch.stack([call(*inputs) for inputs in held_out]) for call in (net, model))
    return 10 * math.log10(exact.square().sum() / (exact - got).square().sum())


def _rows() -> tuple[torch.Tensor, ...]:
    return (torch.randn(4, 32) * 5,)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 1.5 - (x * 1.5).amax(-1, keepdim=True)).clamp(min=-30.0),
        lambda x: ((y := x * 1.5) - y.amax(-1, keepdim=True)).clamp(min=-30.0),
        lambda x: ((y := x * 1.5) - y.amax(-1, keepdim=True).clamp(max=0.0)).clamp(min=-8.0),
        lambda x: (((y := x * 1.5) - y.amax(-1, keepdim=True)).clamp(min=-30.0) / 16).exp(),
        lambda x: ((y := x * 0.3) - y.amax(-1, keepdim=True).abs() - 1.0).clamp(min=-9.0).exp(),
        lambda x: ((y := x * 0.3 - 8.0) - y.amax(-1, keepdim=True).neg()).clamp(min=-9.0).exp(),
        lambda x: (y := x * 1.5).masked_fill(x > 9, -1e4).softmax(-1) + y,
        lambda x: x.transpose(0, 1).masked_fill(x.T > 9, -1e4).softmax(-1) + x.T,
        lambda x: x.masked_fill(x > 9, -1e4).softmax(-1) + x,
        lambda x: (y := (x * 0.5).masked_fill(x > 9, -1e4)).softmax(-1) + y.softmax(-1) * 2,
        lambda x: (x * 0.5).masked_fill((x > 9) | (torch.arange(4)[:, None] == 1), -1e4).softmax(-1),
    ],
    ids=[
        "clamped",
        "one tensor",
        "upper bound",
        "scaled exp",
        "size",
        "negative",
        "read too",
        "an input, transposed",
        "an input",
        "two softmaxes",
        "a row of masks",
    ],
)
def test_what_others_read_is_kept(function: Callable[..., torch.Tensor]) -> None:
    assert _noise(function, _rows) > 25


def test_a_bias_of_zeros_in_some_calls_keeps_its_steps() -> None:
    def masked(scores: torch.Tensor, bias: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        return (scores + (bias * 2.0).masked_fill(~seen, -math.inf)).softmax(-1)

    def call() -> tuple[torch.Tensor, ...]:
        return torch.randn(4, 8), torch.randn(4, 8) * torch.randint(0, 2, ()), torch.rand(4, 8) > 0.3

    assert _noise(masked, call) > 22


def test_a_constant_that_is_trained_stays_a_parameter() -> None:
    class Token(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = torch.nn.Parameter(torch.zeros(16))
            self.layer = torch.nn.Linear(16, 16)

        def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
            return self.layer(torch.where(seen[..., None], x, self.token))  # type: ignore[no-any-return]

    program = torch.export.export(Token(), (torch.randn(4, 12, 16), torch.rand(4, 12) > 0.4))
    model = prepare_qat_pt2e(program.module(), quantizer(SPEC, get_symmetric_quantization_config(is_qat=True)))
    assert "token" in dict(model.named_parameters())


def test_training_of_a_norm_that_sees_small_and_large_variances_has_gradients() -> None:
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(0)) * torch.tensor([[1e-3], [1.0], [10.0], [1e-3]])
    program = torch.export.export(torch.nn.LayerNorm(8), (x,))
    model = prepare_qat_pt2e(program.module(), quantizer(SPEC, get_symmetric_quantization_config(is_qat=True)))
    x.requires_grad_()
    model(x).square().sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()


@pytest.mark.parametrize("mask", [MASKS["added -10000"], MASKS["filled -10000"], _by_truths, APART["chosen"]])
def test_training_sees_masks_as_the_quantized_model_does(mask: Mask) -> None:
    calls, net = _calls(40, 4, 0), Attention(mask, 0.35)
    program = torch.export.export(net, calls[0])
    model = prepare_qat_pt2e(program.module(), quantizer(SPEC, get_symmetric_quantization_config(is_qat=True)))
    for q, k, seen in calls:
        q.requires_grad_()
        model(q, k, seen).square().sum().backward()
        assert q.grad is not None and q.grad.isfinite().all()
    converted = convert_pt2e(model)
    with torch.no_grad():
        exact, got = (torch.stack([call(*inputs) for inputs in calls]) for call in (net, converted))
    assert 10 * math.log10(exact.square().sum() / (exact - got).square().sum()) > 15


@pytest.mark.parametrize("name", ["added -10000", "filled -10000", "chosen first", "reshaped"])
def test_masked_attention_lowers_to_the_same_numbers(name: str) -> None:
    (inputs,) = _calls(1, 4, 2)
    assert_matches(quantized(Attention(MASKS[name], 0.35), inputs), inputs)


@pytest.mark.parametrize(
    "read",
    [
        lambda s: s.log_softmax(-1),
        lambda s: s.softmax(-1) + s.amax(-1, keepdim=True) * 1e-3,
        lambda s: s.roll(5).softmax(-1),  # rows are others then
        lambda s: s.transpose(-1, -2).softmax(-1),
        lambda s: s - s.amax(-1, keepdim=True),
    ],
    ids=["log", "read twice", "rolled", "transposed", "no softmax"],
)
def test_numbers_that_are_told_apart_keep_their_range(read: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Of a square, whose rows and columns differ: the first row lies far below all others."""
    x = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    x[0] -= 40.0
    model = quantized(lambda x: read(x * 2.0), (x,))
    scale = next(
        n.args[1] for n in model.graph.nodes if "quantize_per_tensor" in str(n.target) and n.args[0].name == "mul"
    )
    assert float(scale) * 255 > 80
