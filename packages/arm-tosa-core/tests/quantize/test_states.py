"""State that a host carries from call to call: one scale at both ends, 16 bits, calibration that rolls the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from quantizer_kit import INT8, SPEC, assert_matches
from torch import nn
from torch.fx import GraphModule, Node

from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, quantize_program
from arm_tosa_core.lowering.exported_program import is_dequantize, is_quantize
from arm_tosa_core.quantize.annotate.wide_results import Wide
from arm_tosa_core.quantize.probe.states import find_states, resolve_states, with_carried_states
from arm_tosa_core.support.errors import UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

STATES: dict[str, str | int] = {"h": 1, "c": 2}


class Step(nn.Module):
    """One step of an LSTM; its state is the host's."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.head = nn.LSTMCell(4, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h, c = self.cell(x, (h, c))
        return self.head(h.relu()), h, c


class Named(Step):
    """The same with names for what it returns."""

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Any:
        y, h, c = super().forward(x, h, c)
        return {"y": y, "hn": h, "c": c}


class Window(nn.Module):
    """The last frames, kept by the host."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        cache = torch.cat([cache[:, 1:], self.layer(x)], 1)
        return cache.mean(1), cache


def sequence(count: int, seed: int = 0) -> list[tuple[torch.Tensor, ...]]:
    g = torch.Generator().manual_seed(seed)
    return [(torch.randn(1, 4, generator=g), torch.zeros(1, 8), torch.zeros(1, 8)) for _ in range(count)]


def ends(model: GraphModule, given: str, place: int) -> list[tuple[Any, ...]]:
    """Scale, zero point, limits and type of a state's quantize node at the input, and dequantize node at the output."""
    (node,) = [n for n in model.graph.nodes if n.op == "placeholder" and n.name == given]
    results: Any = model.graph.output_node().args[0]
    (first,), last = [u for u in node.users if is_quantize(u)], results[place]
    assert isinstance(last, Node) and is_dequantize(last)
    return [tuple(first.args[1:]), tuple(last.args[1:])]


@pytest.mark.parametrize(
    ("spec", "wide", "bits"),
    [
        (SPEC, "residuals", torch.int16),
        (SPEC, "none", torch.int8),
        (TosaCompileSpec("TOSA-1.0+INT"), "residuals", torch.int8),
    ],
    ids=["default", "none", "no int16"],
)
def test_both_ends_are_the_same_integers(spec: TosaCompileSpec, wide: Wide, bits: torch.dtype) -> None:
    by, samples = TOSAQuantizer(spec, wide=wide).set_global(INT8), sequence(12)
    made = quantize_program(torch.export.export(Step().eval(), samples[0]), by, samples, states=STATES)
    for name, place in (("h", 1), ("c", 2)):
        first, last = ends(made.converted, name, place)
        assert first == last and first[4] == bits
    assert by.states == {}  # the quantizer is left as it was
    assert_matches(made.converted, samples[3], spec)


class Leaky(nn.Module):
    """A sum that forgets slowly: what a call adds is less than a step of 8 bits."""

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        level = level * 0.99 + x * 0.01
        return level * 2, level


def test_a_rolled_model_stays_near() -> None:
    def calls(seed: int) -> list[tuple[torch.Tensor, ...]]:
        g = torch.Generator().manual_seed(seed)
        return [(torch.rand(1, 4, generator=g), torch.zeros(1, 4)) for _ in range(200)]

    program = torch.export.export(Leaky(), calls(0)[0])

    def noise(wide: Wide) -> float:
        by = TOSAQuantizer(SPEC, wide=wide).set_global(INT8)
        quantized = quantize_program(program, by, calls(0), states={"level": 1}).converted
        exact, made = (torch.cat(_levels(model, calls(1))) for model in (Leaky(), quantized))
        return float((exact - made).square().sum())

    assert noise("residuals") < 0.05 * noise("none")


def _levels(model: nn.Module, samples: list[tuple[torch.Tensor, ...]]) -> list[torch.Tensor]:
    made, level = [], samples[0][1]
    with torch.no_grad():
        for x, _ in samples:
            y, level = model(x, level)
            made.append(y)
    return made


def _run(model: nn.Module, samples: list[tuple[torch.Tensor, ...]]) -> list[tuple[torch.Tensor, ...]]:
    _, h, c = samples[0]
    made = []
    with torch.no_grad():
        for x, *_ in samples:
            y, h, c = model(x, h, c)
            made.append((y, h, c))
    return made


def test_each_call_takes_what_the_one_before_returned() -> None:
    samples, model = sequence(5), Step().eval()
    program = torch.export.export(model, samples[0])
    calls = list(with_carried_states(program.module(), {"h": 1, "c": 2}, [(s, {}) for s in samples]))
    wanted = _run(model, samples)
    assert torch.equal(calls[0][0][1], samples[0][1])
    for (args, _), (_, h, c) in zip(calls[1:], wanted, strict=False):
        torch.testing.assert_close((args[1], args[2]), (h, c))


def test_a_window_of_frames_has_16_bits() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 1, 3), torch.zeros(1, 4, 3)) for _ in range(8)]
    by = TOSAQuantizer(SPEC).set_global(INT8)
    program = torch.export.export(Window().eval(), samples[0])
    made = quantize_program(program, by, samples, states={"cache": 1})
    first, last = ends(made.converted, "cache", 1)
    assert first == last and first[4] == torch.int16
    assert_matches(made.converted, samples[3], SPEC)


class Appended(nn.Module):
    """Reads all frames, and gives new ones, which the host writes among them."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, cache: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.layer(x)
        return cache.mean(1, keepdim=True) + rows, rows


def test_rows_that_the_host_writes_have_the_bits_of_the_scheme() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 2, 3), torch.randn(1, 4, 3)) for _ in range(8)]
    by = TOSAQuantizer(SPEC).set_global(INT8)
    program = torch.export.export(Appended().eval(), samples[0])
    made = quantize_program(program, by, samples, states={"cache": 1})
    first, last = ends(made.converted, "cache", 1)
    assert first == last and first[4] == torch.int8
    assert_matches(made.converted, samples[3], SPEC)
    kept = list(with_carried_states(program.module(), {"cache": 1}, [(s, {}) for s in samples]))
    assert all(torch.equal(args[1], cache) for (args, _), (_, cache) in zip(kept, samples, strict=True))


def test_names_tell_states() -> None:
    samples = sequence(4)
    program = torch.export.export(Named().eval(), samples[0])
    found = find_states(program)
    assert set(found) == {"h", "c"} and found == resolve_states(program, {"h": "hn", "c": "c"})
    assert find_states(torch.export.export(Step().eval(), samples[0])) == {}


def test_what_two_names_tell_is_none() -> None:
    class Both(Named):
        def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Any:
            made = super().forward(x, h, c)
            return {**made, "h_out": made["hn"] * 2}

    assert set(find_states(torch.export.export(Both().eval(), sequence(1)[0]))) == {"c"}


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ({"g": 1}, "no input 'g'; its inputs are x, h, c"),
        ({"h": 7}, "no output 7 for input 'h'; its outputs are 0 to 2"),
        ({"h": "hx"}, "no output 'hx' for input 'h'; its outputs are"),
        ({"h": 1, "c": 1}, "output 1 is the state of two inputs"),
        ({"x": 1}, r"input 'x' is float32 \[1, 4\], but output 1 is float32 \[1, 8\]"),
    ],
)
def test_states_that_the_model_has_not(states: dict[str, str | int], reason: str) -> None:
    program = torch.export.export(Step().eval(), sequence(1)[0])
    with pytest.raises(UsageError, match=reason):
        quantize_program(program, TOSAQuantizer(SPEC).set_global(INT8), sequence(2), states=states)


def test_a_state_that_starts_as_one_number_repeated() -> None:
    torch.manual_seed(3)
    net = torch.nn.GRU(4, 3, batch_first=True)  # its first state is zeros, expanded
    samples = [torch.randn(3, 2, 4) for _ in range(3)]
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(INT8)
    made = quantize_program(torch.export.export(net.eval(), (samples[0],)), quantizer, samples).converted
    torch.testing.assert_close(made(samples[0])[0], net(samples[0])[0], atol=0.05, rtol=0)
