"""Results that have little in common with those in float are named, whatever the reason; others are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC
from torch import nn
from torch._higher_order_ops.while_loop import while_loop

from arm_tosa_core import LostResultWarning, TOSAQuantizer, UsageError, quantize_program
from arm_tosa_core.quantize.schemes.config import QuantizationConfig

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Forward = Callable[[torch.Tensor, torch.Tensor], Any]


class Model(nn.Module):
    def __init__(self, of: Forward) -> None:
        super().__init__()
        self.of = of

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
        return self.of(x, mask)


def small_beside_large(x: torch.Tensor, mask: torch.Tensor) -> Any:
    joined = torch.cat([x * 0.001, x * 30], 1)
    return joined, joined[:, :4]


def log_softmax_of_masked(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return x.masked_fill(mask, -1e4).log_softmax(-1).amax(-1)


def nearly_silent(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    quiet = torch.tensor([1.0, 0.01, 0.01, 0.01])[:, None] * x
    return quiet / quiet.norm(dim=2, keepdim=True)


def softmax_of_masked(x: torch.Tensor, mask: torch.Tensor) -> Any:
    return x.masked_fill(mask, -1e4).softmax(-1), x.argmax(-1), x.masked_fill(mask, -1e9)


def random(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return x * 0.001 + torch.rand_like(x)


def random_in_a_loop(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    def body(call: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return call + 1, x * 0.001 + torch.rand_like(x)

    return while_loop(lambda call, _: call < 3, body, (torch.zeros((), dtype=torch.int64), x))[1]  # type: ignore[no-any-return]


def decisions(x: torch.Tensor, mask: torch.Tensor) -> Any:
    return (x * 3).argmax(-1).float(), x.sort()[1].float(), (x * 2).sign(), (x > x.mean()).float(), (x * 2).sum()


def as_many_as_are_above(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    doubled = x * 2
    return doubled[doubled > 0.05]


def alike_at_first(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return x + 5 * mask[:1, :1, :1].float()


def inverse(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    square = x[:, :, :4]
    return torch.linalg.cholesky(square @ square.mT + 1e-6 * torch.eye(4))


def row_of_a_sum(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    count = (x.softmax(-1).cumsum(-1) > 0.999).sum(-1, keepdim=True)
    return x.gather(-1, count - 1)


def quantized(of: Forward, config: QuantizationConfig, *, compare: bool = True) -> list[str]:
    torch.manual_seed(0)
    samples = [(torch.randn(2, 4, 6), torch.rand(2, 4, 6) > 0.7) for _ in range(3)]
    program = torch.export.export(Model(of), samples[0])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quantize_program(program, TOSAQuantizer(SPEC).set_global(config), samples, compare=compare)
    return [str(w.message) for w in found if w.category is LostResultWarning]


@pytest.mark.parametrize(
    ("of", "config", "named"),
    [
        (small_beside_large, INT8, "slice"),
        (small_beside_large, INT16, "slice"),
        (log_softmax_of_masked, INT8, "amax"),
        (log_softmax_of_masked, INT16, "amax"),
        (nearly_silent, INT8, "div"),
        (nearly_silent, INT16, ""),
        (lambda x, mask: nearly_silent(x, mask).clone(), INT8, "clone"),
        (lambda x, mask: nearly_silent(x, mask).half(), INT8, "to"),
        (lambda x, mask: (4 * nearly_silent(x, mask)).round().long().float(), INT8, "to_1"),
        (softmax_of_masked, INT8, ""),
        (softmax_of_masked, INT16, ""),
        (random, INT8, ""),
        (random_in_a_loop, INT8, ""),
        (decisions, INT8, ""),
        (as_many_as_are_above, INT8, ""),
    ],
)
def test_lost_results_are_named(of: Forward, config: QuantizationConfig, named: str) -> None:
    texts = quantized(of, config)
    assert len(texts) == bool(named)
    for text in texts:
        assert f": '{named}" in text
        assert text.count("test_lost_results.py") == 1, "of two results one is lost"
        assert ("16 bits" in text) == (config is INT8)


class Written(nn.Module):
    """Returns a buffer that each call writes."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Buffer(torch.zeros(2, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last.copy_(x * 2)
        return self.last


def test_a_result_that_the_next_call_writes_to_is_judged_as_it_was() -> None:
    samples = [(torch.randn(2, 6),) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostResultWarning)
        quantize_program(torch.export.export(Written(), samples[0]), TOSAQuantizer(SPEC).set_global(INT8), samples)


def test_what_the_first_samples_have_in_common_is_no_loss() -> None:
    """A calibration set may be sorted by class."""
    still = torch.linspace(-0.01, 0.01, 48).reshape(2, 4, 6)
    samples = [(still, torch.zeros(2, 4, 6, dtype=torch.bool))] * 2
    program = torch.export.export(Model(alike_at_first), samples[0])
    quantizer = TOSAQuantizer(SPEC).set_global(INT8)
    others = [(still, torch.ones(2, 4, 6, dtype=torch.bool))] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", LostResultWarning)
        quantize_program(program, quantizer, samples + others)


def test_a_quantized_model_that_does_not_run_is_refused() -> None:
    with pytest.raises(UsageError, match=r"does not run on a sample.*index -1 is out of bounds.*clamp"):
        quantized(row_of_a_sum, INT8)
    assert quantized(row_of_a_sum, INT16) == []
    with pytest.raises(
        UsageError, match=r"does not run on a sample[^:]*: linalg.cholesky[^.]*\. Keep what computes it"
    ):
        quantized(inverse, INT8)


def test_without_a_comparison_the_quantized_model_does_not_run() -> None:
    assert quantized(row_of_a_sum, INT8, compare=False) == quantized(small_beside_large, INT8, compare=False) == []


def test_integers_of_a_float_operator_are_not_judged() -> None:
    sample = (torch.randn(2, 4, 6), torch.zeros(2, 4, 6, dtype=torch.bool))
    program = torch.export.export(Model(lambda x, mask: x.relu().int()), sample)
    quantizer = TOSAQuantizer(SPEC).set_global(INT8).set_node_name("relu", None).set_node_name("to", None)
    converted = quantize_program(program, quantizer, [sample]).converted
    assert torch.equal(converted(*sample), sample[0].relu().int())
