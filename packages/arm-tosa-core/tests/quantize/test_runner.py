"""Programs run on samples: whatever they write to, and in whatever order they are called, samples and buffers stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from arm_tosa_core import TosaSpecification, UsageError, get_symmetric_quantization_config, quantize_program
from arm_tosa_core.quantize.probe.runner import Runner, run
from arm_tosa_core.quantize.quantizer import TOSAQuantizer

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

RANGES = {"x": 1.0, "y": 100.0}


def quantizer() -> TOSAQuantizer:
    spec = TosaSpecification.create_from_string("TOSA-1.0+INT")
    return TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())


def numbers(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class TwoInputs(torch.nn.Module):
    """Two layers, each of an input of its own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, *, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.first(x) + self.second(y)


class Writes(torch.nn.Module):
    """Doubles its input in place, and counts in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2.0)
        self.total.add_(x[0])
        return self.last(torch.relu(self.layer(x))) + self.total


class Nested(TwoInputs):
    """The same, with inputs in a dictionary."""

    def forward(self, given: dict[str, torch.Tensor]) -> torch.Tensor:  # type: ignore[override]
        return super().forward(**given)


class Positional(TwoInputs):
    """The same, with inputs by position."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return super().forward(x=x, y=y)


def turned(call: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return dict(reversed(call.items()))


@pytest.mark.parametrize(
    ("net", "exported", "other"),
    [
        (TwoInputs, lambda call: ((), call), lambda call: ((), turned(call))),
        (Nested, lambda call: ((call,), {}), lambda call: ((turned(call),), {})),
        (Positional, lambda call: (tuple(call.values()), {}), lambda call: ((), turned(call))),
    ],
)
def test_one_call_is_written_in_several_ways(
    net: Callable[[], torch.nn.Module], exported: Callable[..., Any], other: Callable[..., Any]
) -> None:
    calls = [{name: numbers((4, 8), seed) * reach for name, reach in RANGES.items()} for seed in range(3)]
    args, kwargs = exported(calls[0])
    program = torch.export.export(net().eval(), args, kwargs)
    one, two = (quantize_program(program, quantizer(), list(map(way, calls))).converted for way in (exported, other))
    assert torch.equal(one(*args, **kwargs), two(*args, **kwargs))


def test_samples_and_buffers_are_left_as_they_are() -> None:
    module = Writes().eval()
    samples = [numbers((4, 8), seed) for seed in range(3)]
    before = [sample.clone() for sample in samples]
    program = torch.export.export(module, (samples[0].clone(),))
    made = quantize_program(program, quantizer(), samples)
    assert all(map(torch.equal, samples, before))
    assert not program.state_dict["total"].any()
    wanted = Writes().eval()(samples[0].clone())  # of buffers of its own
    assert (made.converted(samples[0].clone()) - wanted).square().mean() < wanted.square().mean() / 1000


def test_a_call_with_other_inputs_is_told() -> None:
    program = torch.export.export(Writes().eval(), (numbers((4, 8), 0),))
    with pytest.raises(UsageError, match=r"no call of the model, whose inputs are \(x\): too many positional"):
        quantize_program(program, quantizer(), [(numbers((4, 8), 0), numbers((4, 8), 0))])
    assert not program.state_dict["total"].any()


def test_a_reader_is_given_another_value_and_known_results_are_not_computed() -> None:
    module = torch.export.export(Writes().eval(), (numbers((4, 8), 0),)).module()
    relu = next(node for node in module.graph.nodes if node.target is torch.ops.aten.relu.default)
    (reader,) = relu.users
    runner = Runner(module, keep=True)
    for _, ((exact,),) in run([((numbers((4, 8), 1),), {})], runner):
        runner.replaced = {(relu, reader): lambda values: torch.zeros_like(values[relu])}
        known = {node: value for node, value in runner.env.items() if node < reader}
        (replaced,) = runner.outputs([numbers((4, 8), 1)], known)
        bias = module.state_dict()["last.bias"]
        assert torch.equal(replaced, bias.expand(4, 8) + module.state_dict()["total"])
        assert not torch.equal(replaced, exact)
