"""The generator of random programs: what it draws, how it judges, how it shrinks; ``nox -s programs`` runs them."""

from __future__ import annotations

from collections.abc import Callable

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
