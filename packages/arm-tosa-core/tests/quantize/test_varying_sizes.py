"""Models whose sizes vary are quantized for all of them: what depends on a size is computed at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from quantizer_kit import INT8, SPEC
from torch import nn
from torch.export import Dim
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from arm_tosa_core import TOSAQuantizer, UsageError, quantize_program
from arm_tosa_core.exir.explain import explain
from arm_tosa_core.lowering.operator_names import canonical
from arm_tosa_core.testing.case import Apply

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

SEQUENCE, IMAGE, WIDE = (3, 5, 4), (3, 4, 5, 5), (3, 2, 4, 6)
#: The axis that varies besides the batch.
VARIES = {SEQUENCE: 1, WIDE: 3}


def masked(x: torch.Tensor) -> torch.Tensor:
    seen = torch.ones(x.shape[1], x.shape[1]).tril()
    return (x @ x.transpose(1, 2)).masked_fill(seen == 0, -1e9).softmax(-1)


def added_mask(x: torch.Tensor) -> torch.Tensor:
    hidden = torch.full((x.shape[1], x.shape[1]), -float("inf")).triu(1)
    return (x @ x.transpose(1, 2) + hidden).softmax(-1)


def causal(x: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


def normalized(x: torch.Tensor) -> torch.Tensor:
    return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True) + 1e-2).sqrt()


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x.mean((0, 1)), SEQUENCE),
        (lambda x: x.reshape(-1, 4) * 2, SEQUENCE),
        (lambda x: x.sum(1) / x.shape[1], SEQUENCE),
        (lambda x: (x * x.shape[1] + x.shape[0], x.shape[1], x.shape[0] // 1), SEQUENCE),
        (lambda x: x / (x.shape[1] ** 0.5), SEQUENCE),
        (lambda x: x.std(1), SEQUENCE),
        (lambda x: x.prod(1) + x[:, 0], SEQUENCE),
        (lambda x: torch.einsum("bsc,btc->bst", x, x) / x.shape[1], SEQUENCE),
        (lambda x: x + torch.arange(x.shape[1])[:, None] * 0.1, SEQUENCE),
        (masked, SEQUENCE),
        (added_mask, SEQUENCE),
        (causal, SEQUENCE),
        (normalized, SEQUENCE),
        *(
            (lambda x, mode=mode: F.interpolate(x, size=(3, 5), mode=mode), WIDE)
            for mode in ("nearest", "bilinear", "bicubic")
        ),
        (nn.InstanceNorm2d(4), IMAGE),
        (nn.GroupNorm(2, 4), IMAGE),
        (nn.BatchNorm2d(4), IMAGE),
    ],
)
def test_sizes_vary_in_what_is_quantized(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = (function if isinstance(function, nn.Module) else Apply(function)).eval()
    x = torch.randn(shape)
    axis = VARIES.get(shape)
    samples = [x, x[:1] if axis is None else x.narrow(axis, 0, 3)]
    dims = {0: Dim("batch", min=1, max=6), **({} if axis is None else {axis: Dim("length", min=2, max=9)})}
    program = torch.export.export(
        model, (x,), dynamic_shapes=((dims,) if isinstance(function, nn.Module) else ((dims,),))
    )
    converted = quantize_program(program, TOSAQuantizer(SPEC).set_global(INT8), samples).converted
    assert any("quantize" in canonical(n.target) for n in converted.graph.nodes)
    again = torch.export.export(converted, (x,), dynamic_shapes=(dims,)).module()
    for sample in samples:
        exact, got, kept = (m(sample) for m in (model, converted, again))
        torch.testing.assert_close(kept, got)
        torch.testing.assert_close(got, exact, atol=0.15, rtol=0.1)


def test_nothing_becomes_an_operator_that_no_runtime_has() -> None:
    """PyTorch would take ``arange`` apart into ``prims.iota``, and ``cumprod`` into ``prims.prod``."""
    model = Apply(lambda x: (x + torch.arange(4.0), x.cumprod(-1), x.max() + torch.arange(x.shape[1]))).eval()
    made = quantize_program(
        torch.export.export(model, (x := torch.randn(2, 4),)), TOSAQuantizer(SPEC).set_global(INT8), [x]
    )
    assert not any(str(n.target).startswith("prims.") for n in made.converted.graph.nodes)


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        (lambda: [nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 3, 1)], (2, 4, 4)),
        (lambda: [nn.Linear(4, 3), nn.LayerNorm(3), nn.Linear(3, 3)], (4,)),
    ],
)
def test_samples_without_elements_teach_nothing(layers: Callable[[], list[nn.Module]], shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*layers())
    x, empty = torch.randn(4, *shape), torch.empty(0, *shape)
    dims = ({0: Dim("batch", min=0, max=8)},)
    program = torch.export.export(model.eval(), (x,), dynamic_shapes=dims)
    quantizer = TOSAQuantizer(SPEC).set_global(INT8)
    converted = quantize_program(program, quantizer, [empty, x, empty, 0.9 * x, empty]).converted
    assert converted(empty).numel() == 0
    without = quantize_program(program, quantizer, [x, 0.9 * x]).converted
    torch.testing.assert_close(converted(x), without(x), atol=0.05, rtol=0)
    with pytest.raises(UsageError, match="no tensor of the calibration data has an element"):
        quantize_program(program, quantizer, [empty] * 2)


def within_no_grad(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return torch.vmap(lambda row: row * 2 + row.sum())(x)


@pytest.mark.parametrize(
    "function", [lambda x: torch.vmap(lambda row: (row @ row) * row.sin())(x), within_no_grad], ids=["plain", "no_grad"]
)
def test_functions_of_vmap_are_quantized(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    model = Apply(function).eval()
    x = torch.randn(3, 8)
    program = torch.export.export(model, (x,))
    made = quantize_program(program, TOSAQuantizer(SPEC).set_global(INT8), [x, 0.9 * x])
    torch.testing.assert_close(made.converted(x), model(x), atol=0.2, rtol=0.1)
    report = explain(torch.export.export(made.converted, (x,)), SPEC)
    assert not report.rejected  # not the cast that vmap makes of a number either
    with pytest.raises(UsageError, match="torch.vmap at .* cannot be calibrated by PT2E: call quantize_program"):
        prepare_pt2e(program.module(), TOSAQuantizer(SPEC).set_global(INT8))
