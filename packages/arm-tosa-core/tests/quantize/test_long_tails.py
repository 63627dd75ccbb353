"""Tensors most of whose numbers are lost beside a few others are named, with the share and the remedy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import pytest
import torch
from quantizer_kit import INT8, INT16, SPEC
from torch import nn

from arm_tosa_core import TOSAQuantizer, quantize_program
from arm_tosa_core.support.errors import LongTailWarning
from arm_tosa_core.testing.case import Apply

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def power(seed: int) -> torch.Tensor:
    """Of 100 numbers 80 are a thousandth of the others, 10 are 0."""
    x = torch.rand(1, 100, generator=torch.Generator().manual_seed(seed)) + 0.5
    x[:, 10:90] *= 1e-3
    return x.index_fill(1, torch.arange(10), 0.0)


def quantize(samples: Sequence[torch.Tensor], by: TOSAQuantizer, model: nn.Module | None = None) -> list[str]:
    torch.manual_seed(0)
    program = torch.export.export((model or nn.Linear(100, 4)).eval(), (samples[0],))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        quantize_program(program, by, samples)
    return [str(w.message) for w in found if w.category is LongTailWarning]


def test_a_long_tail_is_named() -> None:
    (text,) = quantize([power(i) for i in range(4)], TOSAQuantizer(SPEC).set_global(INT8))
    assert text.startswith("input 'input': 89% of its numbers are less than half a step of 8 bits")
    assert "int16x8 for linear" in text


def test_16_bits_are_the_remedy() -> None:
    by = TOSAQuantizer(SPEC).set_global(INT8).set_node_name("linear", INT16)
    assert quantize([power(i) for i in range(4)], by) == []


def test_noise_has_none() -> None:
    by = TOSAQuantizer(SPEC).set_global(INT8)
    assert quantize([torch.randn(1, 100, generator=torch.Generator().manual_seed(i)) for i in range(4)], by) == []


@pytest.mark.parametrize(
    ("function", "harm"),
    [
        (lambda x: x.tanh().masked_fill(x > 1, -1e4), "of all are less than half a step"),
        (lambda x: torch.where(x > 1, 1e6, x.exp()).log(), "they are clipped to the range of the others"),
        (lambda x: torch.where(x > 1, x, -1e4).topk(60)[0], "they are clipped to the range of the others"),
        (lambda x: x.masked_fill(x > 1, -1e4).softmax(-1), None),
        (lambda x: (x + (x > 1) * torch.finfo(torch.float32).min).clamp(min=-3e38).softmax(-1), None),
        (lambda x: x.masked_fill(x > 1, -100.0), None),
    ],
    ids=["returned", "logarithm", "too few", "softmax", "clamped", "near"],
)
def test_a_result_with_far_numbers_that_are_read_is_named(
    function: Callable[..., torch.Tensor], harm: str | None
) -> None:
    texts = quantize(
        torch.randn(4, 1, 100, generator=torch.Generator().manual_seed(0)),
        TOSAQuantizer(SPEC).set_global(INT8),
        Apply(function),
    )
    if harm is None:
        assert not texts
    else:
        (text,) = texts
        assert text.startswith(("result 'masked_fill'", "result 'where'", "result 'getitem'")) and harm in text


def test_each_of_several_is_named() -> None:
    samples = torch.randn(4, 1, 100, generator=torch.Generator().manual_seed(0))
    masked = Apply(lambda x: (x.tanh().masked_fill(x > 1, -1e4) * 2, x.sigmoid().masked_fill(x > 1, -1e4) * 3))
    assert len(quantize(samples, TOSAQuantizer(SPEC).set_global(INT8), masked)) == 2
