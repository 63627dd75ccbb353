"""What rounding adds to every result alike is taken off the last biases; what differs from call to call is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from arm_tosa_core import Corrections, TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.quantize.corrections import bias_correction as outputs
from arm_tosa_core.quantize.corrections.bias_correction import channel_means
from arm_tosa_core.quantize.post_training import quantize_program


class Alike(torch.nn.Module):
    """Its last layer reads nearly the same numbers, whatever the input is."""

    def __init__(self, last: torch.nn.Module, before: torch.nn.Module) -> None:
        super().__init__()
        self.before, self.last = before, last

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.last(torch.sigmoid(self.before(x * 0.001)) - 0.3)
        return result


def _made(net: torch.nn.Module, samples: list[torch.Tensor]) -> GraphModule:
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    program = torch.export.export(net.eval(), (samples[0],))
    return quantize_program(
        program, quantizer, samples, corrections=Corrections(rounding=False)
    ).converted  # which mends much of it as well


def _with_and_without(
    monkeypatch: pytest.MonkeyPatch, net: torch.nn.Module, samples: list[torch.Tensor]
) -> tuple[GraphModule, GraphModule]:
    corrected = _made(net, samples)
    monkeypatch.setattr(outputs, "_SURE", float("inf"))
    return corrected, _made(net, samples)


def _bias(net: torch.nn.Module, made: GraphModule, inputs: list[torch.Tensor]) -> float:
    """The mean error of the channel that has most."""
    with torch.no_grad():
        errors = torch.stack([net(x) - made(x) for x in inputs])
    axis = errors.dim() - (1 if errors.dim() == 3 else 3)
    return float(errors.mean([i for i in range(errors.dim()) if i != axis]).abs().max())


def _error(net: torch.nn.Module, made: GraphModule, inputs: list[torch.Tensor]) -> float:
    with torch.no_grad():
        return sum(float(((net(x) - made(x)) ** 2).sum()) for x in inputs)


def _dense() -> torch.nn.Module:
    return Alike(torch.nn.Linear(64, 4), torch.nn.Linear(6, 64))


def _image() -> torch.nn.Module:
    return Alike(torch.nn.Conv2d(32, 3, 3), torch.nn.Conv2d(6, 32, 1))


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize(("make", "shape"), [(_dense, (5, 6)), (_image, (1, 6, 8, 8))])
def test_an_error_that_calls_share_goes(
    make: Callable[[], torch.nn.Module], shape: tuple[int, ...], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three networks, judged on calls that they were not calibrated with."""
    errors = [0.0, 0.0]
    for seed in range(3):
        with monkeypatch.context() as patch:
            torch.manual_seed(seed)
            net, samples = make(), [torch.randn(shape) for _ in range(count)]
            made = _with_and_without(patch, net, samples)
            others = [torch.randn(shape) for _ in range(8)]
        errors = [sum_ + _bias(net, m, others) for sum_, m in zip(errors, made, strict=True)]
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize(
    "net",
    [
        torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)),  # errors differ
        torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.ReLU()),  # no last layer
        torch.nn.Sequential(torch.nn.Linear(6, 64), torch.nn.LayerNorm(64)),
    ],
)
def test_other_networks_are_as_they_were(net: torch.nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [torch.randn(1, 6, generator=torch.Generator().manual_seed(i)) for i in range(8)]
    corrected, plain = _with_and_without(monkeypatch, net, samples)
    assert _error(plain, corrected, samples) == 0


def test_a_result_that_is_read_elsewhere_too_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    class Both(Alike):
        def forward(self, x: torch.Tensor) -> Any:
            result = super().forward(x)
            return result, torch.sigmoid(result)

    torch.manual_seed(2)
    net, samples = Both(torch.nn.Linear(64, 4), torch.nn.Linear(6, 64)), [torch.randn(5, 6)]
    corrected, plain = _with_and_without(monkeypatch, net, samples)
    assert torch.equal(corrected(samples[0])[0], plain(samples[0])[0])


def test_a_state_that_starts_as_one_number_repeated() -> None:
    torch.manual_seed(3)
    net = torch.nn.GRU(4, 3, batch_first=True)  # its first state is zeros, expanded
    samples = [torch.randn(3, 2, 4) for _ in range(3)]
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
    made = quantize_program(torch.export.export(net.eval(), (samples[0],)), quantizer, samples).converted
    torch.testing.assert_close(made(samples[0])[0], net(samples[0])[0], atol=0.05, rtol=0)


@pytest.mark.parametrize(("shape", "rank"), [((4,), 2), ((3, 4), 2), ((4, 5, 6), 4), ((2, 4, 5), 3)])
def test_the_mean_of_a_channel_is_over_all_other_axes(shape: tuple[int, ...], rank: int) -> None:
    axis = {(4,): 0, (3, 4): 1, (4, 5, 6): 0, (2, 4, 5): 1}[shape]
    result = torch.arange(4.0).reshape([4 if i == axis else 1 for i in range(len(shape))]).expand(shape)
    assert channel_means(result, rank).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("errors", "given", "part"),
    [
        ([[1.0, 2.0]] * 4, 4, 1.0),
        ([[1.0, 2.0]] * 4, 1, 1.0),
        ([[1.0, 2.0], [-1.0, -2.0]], 2, 0.0),
        ([[1.0, 2.0], [0.0, 0.0], [2.0, 4.0]], 3, 0.0),  # less than two standard errors
        ([[0.8, 1.6], [1.2, 2.4]], 2, 1 - 0.04),
        ([[0.8, 1.6], [1.2, 2.4]], 1, 0.8),  # no more than the call given has
        ([[-0.1, -0.2], *[[1.275, 2.55]] * 4], 1, 0.0),  # that stand-ins agree is not enough
        ([[1.0, 2.0]], 1, 0.0),
        ([[float("nan"), 2.0]] * 3, 3, 0.0),
        ([[0.0, 0.0]] * 3, 3, 0.0),
    ],
)
def test_what_calls_agree_about(errors: list[list[float]], given: int, part: float) -> None:
    found = [torch.tensor(e, dtype=torch.float64) for e in errors]
    assert outputs._agreed(found, given).tolist() == pytest.approx([part * 1.0, part * 2.0])


def test_stand_ins_have_the_same_numbers() -> None:
    ids, mask, x = torch.tensor([[3, 1, 2]]), torch.tensor([[True, True, False]]), torch.tensor([[1.0, -2.0, 5.0]])
    others = [args for args, _ in outputs._others(((ids, mask, x, 0.5, torch.tensor(7)), {}))]
    assert [names.tolist() for names, *_ in others] == [[[2, 1, 3]], [[2, 3, 1]], [[3, 2, 1]]]
    for _, seen, numbers, scale, alone in others:
        assert seen.sum() == 2 and seen.dtype == torch.bool
        assert sorted(numbers[0].tolist()) == [-2.0, 1.0, 5.0]
        assert (scale, alone) == (0.5, 7)
