"""The generator of random programs: what it draws, how it judges, how it shrinks; ``nox -s programs`` runs them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401  # has the quantize operators

from arm_tosa_core import ToolError
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from programs import counts, judge, run
from programs.draw import draw
from programs.program import WAYS, Program, Statement, Way
from programs.shrink import shrunk

#: Control flow that PyTorch compiles when it is called.
COMPILED_EAGERLY = ("torch.cond", "while_loop", "_higher_order_ops")

FLOAT, INT8 = (next(way for way in WAYS if way.scheme == scheme) for scheme in ("float", "int8"))


def test_a_seed_gives_the_same_program() -> None:
    assert draw("7", INT8) == draw("7", INT8)
    assert draw("7", INT8) != draw("8", INT8)


def test_every_text_is_python_and_runs() -> None:
    for number in range(30):
        scope: dict[str, object] = {}
        program = draw(str(number), FLOAT)
        if not any(name in program.model() for name in COMPILED_EAGERLY):
            exec(f"{program.model()}\nresult = model(*example)", scope)
            assert scope["result"] is not None
        compile(program.alone(FLOAT), "program", "exec")


def _one(function: Callable[..., object], *example: torch.Tensor) -> torch.fx.GraphModule:
    class Module(torch.nn.Module):
        def forward(self, *inputs: torch.Tensor) -> object:
            return function(*inputs)

    module = torch.export.export(Module(), example).module()
    assert isinstance(module, torch.fx.GraphModule)
    return module


@pytest.mark.parametrize(
    ("function", "got", "right"),
    [
        (lambda x: x * 3, lambda x: x * 3 * (1 + 1e-7), True),
        (lambda x: x * 3, lambda x: x * 3.001, False),
        (lambda x: x.flip(0), lambda x: x.flip(0) * (1 + 1e-6), False),  # only moved
        (lambda x: (x.sum(1), x), lambda x: (x.sum(1), x.clone()), True),
        (lambda x: x[:, :2], lambda x: x[:2].t(), False),
        (lambda x: x > 0, lambda x: x > 0.2, False),
        (lambda x: x * 0.3 > 1e-9, lambda x: x * 0.3 > 0, True),
        (lambda x: (x, None), lambda x: (x, 0), False),
        (lambda x: x / x.clamp(max=-0.1).relu(), lambda x: x * 0, False),
    ],
)
def test_results_are_judged_by_their_noise(
    function: Callable[..., object], got: Callable[..., object], right: bool
) -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    result = got(x)
    results = list(result) if isinstance(result, tuple) else [result]
    assert (judge.wrong([results], _one(function, x), [(x,)]) == "") == right


def test_an_integer_may_be_a_step_off_and_no_more() -> None:
    def quantized(x: torch.Tensor) -> torch.Tensor:
        q = torch.ops.quantized_decomposed
        return q.dequantize_per_tensor(
            q.quantize_per_tensor(x * 1.0, 0.5, 0, -128, 127, torch.int8), 0.5, 0, -128, 127, torch.int8
        )

    x = torch.arange(8.0)
    module = _one(quantized, x)
    assert not judge.wrong([[x + 0.5]], module, [(x,)])
    assert "times the noise" in judge.wrong([[x + 1.5]], module, [(x,)])


class _Writes(torch.nn.Module):
    """Writes into ``torch.zeros`` in place, and a buffer and a counter for the next call.

    Args:
        step: of the numbers that stand for its input; 0: exact ones.
        fault: ``kept``: what it wrote into ``torch.zeros`` is there in the next call; ``late``, ``late counter``: the
            first call writes none.
    """

    before: torch.Tensor
    counter: torch.Tensor

    def __init__(self, step: float = 0.0, fault: str = "") -> None:
        super().__init__()
        self.step, self.fault, self.calls = step, fault, 0
        self.zeros = torch.zeros(4)
        self.register_buffer("before", torch.zeros(4))
        self.register_buffer("counter", torch.tensor(2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = (x / self.step).round() * self.step if self.step else x
        t = self.zeros if self.fault == "kept" else torch.zeros(4)
        t[0] = x[1]
        t.add_(x)
        result = self.before + 0.5
        if self.fault != "late" or self.calls:
            self.before.copy_(x)
        if self.fault != "late counter" or self.calls:
            self.counter.add_(1)
        self.calls += bool(self.fault)
        return t * 1.0, result, self.counter + 1


def _samples(*shape: int) -> list[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(*shape, generator=generator),) for _ in range(3)]


@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
@pytest.mark.parametrize(("fault", "result"), [("", None), ("kept", 0), ("late", 1), ("late counter", 2)])
def test_a_quantized_module_carries_the_states_of_the_float_one(fault: str, result: int | None, scheme: str) -> None:
    module = torch.export.export(_Writes(), _samples(4)[0]).module()
    assert isinstance(module, torch.fx.GraphModule)
    said = judge.misquantized(_Writes(0.01, fault), module, _samples(4), [scheme])
    assert said == "" if result is None else f", result {result}: " in said


class _Rounded(torch.nn.Module):
    """A function of an input that has steps."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> object:
        return self.function((x / 0.02).round() * 0.02)


@pytest.mark.parametrize(
    ("function", "double", "right"),
    [
        (lambda x: x * 3, lambda x: x * 3, True),
        (lambda x: x * 3, lambda x: x * 6, False),
        (lambda x: x * 3, lambda x: x * float("nan"), False),
        (lambda x: x * 3 + 100, lambda x: x * 0 + 100, True),  # a step of the sum is larger than what differs
        (lambda x: x > 0, lambda x: x > 0, True),
        (lambda x: x.flip(0), lambda x: x, False),
        (lambda x: (x * 300).sin(), lambda x: (x * 300).sin(), True),
        (lambda x: x.log(), lambda x: x.log() * 2, True),  # NaN with a little noise
        (lambda x: (x[:1] * 1e-3 + 1).argmax(1), lambda x: (x[:1] * 0 + 1).argmax(1), True),
        (lambda x: torch.where(x > 9, x, torch.arange(8) * 1e-4), lambda x: x * 0, True),  # they have one scale
        (lambda x: (x + torch.full((6, 8), -1e4).triu(1)).softmax(-1), lambda x: x.new_ones(6, 8).tril() / 3, False),
    ],
)
def test_a_quantized_module_computes_what_the_float_one_does(
    function: Callable[..., object], double: Callable[..., object], right: bool
) -> None:
    calls = _samples(6, 8)
    said = judge.misquantized(_Rounded(double), _one(function, *calls[0]), calls, ["int8"])
    assert (said == "") == right, said


def test_squares_below_a_step_of_16_bits_are_no_fault() -> None:
    x = torch.tensor([[1.0, 1.01], [-2.0, 2.0]])
    module = _one(lambda x: torch.nn.functional.layer_norm(x, (2,)), x)
    lost = _Rounded(lambda x: torch.nn.functional.layer_norm(x, (2,)) * torch.tensor([[0.0], [1.0]]))
    assert not judge.misquantized(lost, module, [(x,)], ["int16x8"])


@pytest.mark.parametrize("flow", ["lower", "edge"])
def test_a_state_that_quantization_drops_is_a_fault_of_it(flow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "v0 = x0 + self.b0_0; self.b0_0.copy_(x0)"
    program = Program(
        0,
        (("x0", "torch.randn(4)"),),
        (Statement(text, ("v0",), ('self.register_buffer("b0_0", torch.ones(4))',)),),
        ("v0",),
    )
    way = Way(flow, "tosa", "int8")
    assert run.attempt(program, way, lambda stage: None).kind == "right"
    misquantized = judge.misquantized

    def without_state(quantized: torch.nn.Module, *rest: Any, **options: Any) -> str:
        class Forgets(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> object:
                return copy.deepcopy(quantized)(x)

        return misquantized(Forgets(), *rest, **options)

    monkeypatch.setattr(judge, "misquantized", without_state)
    outcome = run.attempt(program, way, lambda stage: None)
    assert (outcome.kind, outcome.symptom) == ("fault", ("quantize", "quantized", ""))


@pytest.mark.parametrize(
    ("number", "text", "kind"),
    [
        ("float('nan')", "v0 = x0.std(-1)", "refused"),
        ("float('inf')", "v0 = x0.norm(dim=0)", "refused"),
        ("-2.0", "v0 = x0 ** 2.5", "refused"),
        ("-2.0", "v0 = (x0 * x0).sqrt()", "right"),
    ],
)
def test_what_tosa_leaves_open_of_powers_alone_is_no_fault(number: str, text: str, kind: str) -> None:
    program = Program(0, (("x0", f"torch.full((3,), {number})"),), (Statement(text, ("v0",)),), ("v0",))
    outcome = run.attempt(program, Way("lower", "tosa", "float"), lambda stage: None)
    assert outcome.kind == kind, outcome.reason
    assert ("POW" in outcome.reason) == (kind == "refused")


def test_what_tosa_leaves_open_of_sums_is_a_fault() -> None:
    graph = Graph()
    x = graph.input("x", (1,), DType.INT32)
    graph.outputs = [graph.append("ADD", [x, x]).output]
    tosa = serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+INT"))
    with pytest.raises(ToolError, match="TOSA_UNPREDICTABLE") as caught:
        reference_model.run(tosa, [np.array([2**31 - 1], np.int32)])
    kind, _ = run._kind(caught.value, "run", Way("lower", "tosa", "float"), {}, Program(0, (), (), ()))
    assert kind == "fault"


def test_a_program_that_fails_in_eager_is_none() -> None:
    """``torch.export`` does not see that an index is beyond an axis; calibration does."""
    text = "v0 = x0.scatter(0, x0.argmax(1, keepdim=True) + 2, 1.0)"
    program = Program(0, (("x0", "torch.randn(1, 3)"),), (Statement(text, ("v0",)),), ("v0",))
    assert run.attempt(program, Way("lower", "tosa", "int8"), lambda stage: None).kind == "no program"


def test_what_a_fault_does_not_need_goes() -> None:
    lines = ("v0 = x0 + x1", "v1 = v0.relu()", "v2 = v1.sort(0)[0]", "v3 = v2 * 2", "v4 = v0 - v3")
    statements = tuple(Statement(line, (line[:2],)) for line in lines)
    inputs = (("x0", "torch.randn(2)"), ("x1", "torch.randn(2)"))
    program = Program(0, inputs, statements, ("v4", "v1", "x1"), form="({}, None)")
    smallest = shrunk(program, lambda other: "sort" in other.model())
    assert [statement.text for statement in smallest.statements] in (["v2 = x0.sort(0)[0]"], ["v2 = x1.sort(0)[0]"])
    assert len(smallest.outputs) == len(smallest.inputs) == 1 and smallest.form == "({},)"


def test_the_page_has_the_counts_of_the_results() -> None:
    assert counts.table(counts.RESULTS) in counts.PAGE.read_text()
