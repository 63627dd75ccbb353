"""Assignments to parts of tensors are kept by quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from arm_tosa_core import (
    TosaCompileSpec,
    TOSAQuantizer,
    UsageError,
    get_symmetric_quantization_config,
    quantize_program,
)
from arm_tosa_core.compat.torch import out_of_place_twin
from arm_tosa_core.testing.harness import Execution, left_outside

_SPEC = TosaCompileSpec("TOSA-1.0+INT")


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("kept", torch.zeros(4, 3))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: torch.Tensor, v: torch.Tensor) -> Any:
        return self.function(self, x, v)


def rows(_: Any, x: Any, v: Any) -> Any:
    y = x.clone()
    y[1:3] = v
    return y


def number(_: Any, x: Any, v: Any) -> Any:
    y = x.clone()
    y[..., -1] = 0.25
    y[0].fill_(1)
    return y + v.sum()


def sum_to_column(_: Any, x: Any, v: Any) -> Any:
    y = x * 2
    y[:, 0] += v[0, 0]
    return y


def of_zeros(_: Any, x: Any, v: Any) -> Any:
    y = torch.zeros(4, 3)
    y[1:3] = v
    return y + x


def twice(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    y.relu_()
    y[:, 1:].mul_(2.0)
    return y


def view_made_before(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    z = y[1:3]
    y.mul_(2.0)
    return z + v


def through_one_view(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    z = y[1:3]
    z[0] = v[0]
    z[1, 1:] = v[1, 1:]
    return y, z


def transposed(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    y.t()[0:2, 1:3] = v.t()[:2]
    y.permute(1, 0).unsqueeze(0).transpose(0, 2)[2, :2] = 0.5
    return y


def reshaped(_: Any, x: Any, v: Any) -> Any:
    y = (x * 1.5).reshape(2, 2, 3)
    y.view(4, 3)[1:3] += v
    y[0].clamp_(max=0.1)
    return y


def loop(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    for i in range(2):
        y[i] = y[i + 1] * v[i]
    return y


def integers(_: Any, x: Any, v: Any) -> Any:
    y = x.clone()
    y[1:3] = torch.arange(3)
    return y + v.mean()


def through_casts(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    z = y.float().contiguous()
    z[1:3] = v
    z.detach().mul_(0.5)
    return y


def result_of_another(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    z = y.mul_(2.0)
    first = y[0]
    z.add_(1.0)
    return first + v


def mask(_: Any, x: Any, v: Any) -> Any:
    chosen = x > 0
    chosen[1:3] |= v < 0
    chosen[:, 0] &= x[:, 1] > 0
    chosen[0] ^= x[1] > 0
    return x.masked_fill(chosen, 0.5)


def on_an_input(_: Any, x: Any, v: Any) -> Any:
    x /= 4.0
    v.sub_(0.5)
    return x + v.sum()


def prepared(function: Callable[..., Any]) -> tuple[Any, tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(0)
    inputs = torch.randn(4, 3), torch.randn(2, 3)
    quantizer = TOSAQuantizer(_SPEC).set_global(get_symmetric_quantization_config())
    return prepare_pt2e(torch.export.export(Model(function), inputs).module(), quantizer), inputs


@pytest.mark.parametrize(
    "function",
    [
        *(rows, number, sum_to_column, of_zeros, twice, view_made_before, through_one_view),
        *(transposed, reshaped, loop, integers, through_casts, result_of_another, on_an_input, mask),
    ],
)
def test_assigned(function: Callable[..., Any]) -> None:
    observed, inputs = prepared(function)
    observed(*map(torch.clone, inputs))
    converted = convert_pt2e(observed)
    run = Execution(torch.export.export(converted, inputs), _SPEC.target())
    assert len(run.regions) == 1 and not left_outside(run.program, run.analysis)
    exact = function(None, *map(torch.clone, inputs))
    for wanted, made in zip(_tuple(exact), run.run(inputs), strict=True):
        assert (wanted - made).abs().max() < 0.03 * wanted.abs().max()  # of few numbers, so that ranges leave room


def repeated(_: Any, x: Any, v: Any) -> Any:
    y = (x * 1.5)[:1].expand(4, 3)
    y[1] = v[0]
    return y


def split(_: Any, x: Any, v: Any) -> Any:
    y = x * 1.5
    y.split(2)[1].add_(v)
    return y


@pytest.mark.parametrize(("function", "view"), [(repeated, r"aten\.expand"), (split, "getitem")])
def test_through_other_views(function: Callable[..., Any], view: str) -> None:
    with pytest.raises(UsageError, match=rf"test_slice_assignments\.py.*{view}.*is assigned to in place.*torch\.where"):
        prepared(function)


def added(x: Any) -> Any:
    return torch.zeros_like(x).add_(x)


def filled(x: Any) -> Any:
    return torch.zeros(4, 3).masked_fill_(x > 0, -2.0) + x


def chosen(x: Any) -> Any:
    y = x.new_ones(4, 3)
    y[x > 0] = 0.5
    return y * x


def computed(x: Any) -> Any:
    y = torch.zeros(4, 3) + torch.ones(3)
    y.sub_(x)
    return y * 2


@pytest.mark.parametrize("function", [added, filled, chosen, computed])
def test_what_is_made_is_new_at_each_call(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    calls = [(torch.randn(4, 3), torch.zeros(2, 3)) for _ in range(4)]
    quantizer = TOSAQuantizer(_SPEC).set_global(get_symmetric_quantization_config())
    program = torch.export.export(Model(lambda _, x, v: function(x)), calls[0])
    converted = quantize_program(program, quantizer, calls).converted
    run = Execution(torch.export.export(converted, calls[0]), _SPEC.target())
    assert len(run.regions) == 1 and not left_outside(run.program, run.analysis)
    for call in calls:
        exact = function(call[0])
        for made in (converted(*call), *run.run(call)):
            assert (exact - made).abs().max() < 0.03 * exact.abs().max()


_aten = torch.ops.aten


@pytest.mark.parametrize(
    ("writes", "twin"),
    [
        (_aten.add_.Tensor, _aten.add.Tensor),
        (_aten.pow_.Tensor, _aten.pow.Tensor_Tensor),
        (_aten.floor_divide_.Tensor, _aten.floor_divide.default),
        (_aten.__ixor__.Scalar, _aten.__xor__.Scalar),
        (_aten.fill_diagonal_.default, None),
    ],
)
def test_out_of_place(writes: Any, twin: Any) -> None:
    assert out_of_place_twin(writes) is twin


def test_without_a_twin() -> None:
    def diagonal(_: Any, x: Any, v: Any) -> Any:
        y = x * 1.5
        y[:, 1:].fill_diagonal_(0.0)
        return y

    with pytest.raises(UsageError, match=r"test_slice_assignments\.py.*aten\.fill_diagonal_.*there is none"):
        prepared(diagonal)


def part_of_buffer(model: Any, x: Any, v: Any) -> Any:
    model.kept[1:3] = v
    return x + model.kept


def copied(model: Any, x: Any, v: Any) -> Any:
    model.kept.copy_(x)
    return v + model.kept[:2]


def row(model: Any, x: Any, v: Any) -> Any:
    model.kept.index_copy_(0, torch.tensor([2, 1]), v)
    return x + model.kept


def summed(model: Any, x: Any, v: Any) -> Any:
    before = model.kept * 2  # of what it holds, not of what it held when the model was exported
    model.kept.add_(x)
    return before + model.kept, v


def counted(model: Any, x: Any, v: Any) -> Any:
    count = model.count.to(torch.int64)
    place = count + 1
    count.add_(2)
    return x * place, v + model.count


def ticked(model: Any, x: Any, v: Any) -> Any:
    model.count.add_(1).remainder_(7)
    return x * model.count.float(), v


def shifted(model: Any, x: Any, v: Any) -> Any:
    model.count |= 2
    model.count <<= 1
    return x + model.count, v


@pytest.mark.parametrize("function", [part_of_buffer, copied, row, summed, counted, ticked, shifted])
def test_buffers_are_written_to(function: Callable[..., Any]) -> None:
    written = ["count" if function in (counted, ticked, shifted) else "kept"]
    observed, inputs = prepared(function)
    for _ in range(3):
        observed(*inputs)
    before = {name: buffer.clone() for name, buffer in observed.named_buffers() if name in ("kept", "count")}
    converted = convert_pt2e(observed)
    assert all(torch.equal(buffer, converted.get_buffer(name)) for name, buffer in before.items() if name in written)
    buffers = {name: buffer.zero_() for name, buffer in converted.named_buffers() if name in ("kept", "count")}
    program = torch.export.export(converted, inputs).run_decompositions({})
    wanted = Model(function)
    pairs = []
    for _ in range(3):
        pairs += zip(_tuple(converted(*inputs)), _tuple(wanted(*inputs)), strict=True)
        pairs += [(buffer.clone(), wanted.get_buffer(name).clone()) for name, buffer in buffers.items()]
    largest = max(float(exact.abs().max()) for _, exact in pairs)
    assert all((made - exact).abs().max() < 0.02 * largest for made, exact in pairs)
    assert list(program.graph_signature.buffers_to_mutate.values()) == written


def _tuple(results: Any) -> tuple[torch.Tensor, ...]:
    return results if isinstance(results, tuple) else (results,)
