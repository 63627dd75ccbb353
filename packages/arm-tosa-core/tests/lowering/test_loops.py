"""``torch.while_loop`` with the extension ``cf``: one WHILE_LOOP, its graphs within it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.flow.edge import lower_to_edge
from arm_tosa_core.lowering.exported_program import copy_program
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize

_FLOAT, _INTEGER = TosaCompileSpec("TOSA-1.0+FP+cf"), TosaCompileSpec("TOSA-1.0+INT+cf")
_QUANTIZED = TosaCompileSpec("TOSA-1.0+INT+int16+cf")
Step = Callable[..., Any]


def _loop(condition: Step, body: Step, *read: torch.Tensor) -> Step:
    return lambda *carried: torch.ops.higher_order.while_loop(condition, body, carried, read)


def _nested(x: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    inner = _loop(lambda y: y.sum() < 8, lambda y: (y * 2,))
    return inner(x)[0] * 0.1, n - 1


def _unused(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return y, x + y


_LOOPS: dict[str, tuple[Step, list[torch.Tensor]]] = {
    "one": (_loop(lambda x: x.sum() < 60, lambda x: (x * 2,)), [torch.ones(2, 3)]),
    "no step": (_loop(lambda x: x.sum() > 60, lambda x: (x * 2,)), [torch.ones(2, 3)]),
    "two": (
        _loop(lambda x, n: n.sum() > 0, lambda x, n: (x + n, n - 1)),
        [torch.ones(2, 3), torch.full((2, 3), 4.0)],
    ),
    "constant read": (
        _loop(lambda x, c: x.sum() < c[0], lambda x, c: (x + c * 0.1,), torch.tensor([40.0])),
        [torch.ones(5)],
    ),
    "layer read": (
        _loop(
            lambda x, w, b: x.sum() < 9,
            lambda x, w, b: (torch.tanh(x @ w) + b + x,),
            torch.eye(3),
            torch.full((3,), 0.5),
        ),
        [torch.ones(2, 3)],
    ),
    "swapped": (_loop(lambda x, y: x.sum() < 9, _unused), [torch.ones(3), torch.ones(3)]),
    "handed on": (
        _loop(lambda x, y: x.sum() < 50, lambda x, y: (y, y * 3)),
        [torch.full((3,), 0.01), torch.full((3,), 2.0)],
    ),
    "image": (_loop(lambda x: x.amax() < 9, lambda x: (torch.max_pool2d(x, 3, 1, 1) + 1,)), [torch.randn(1, 2, 5, 6)]),
    "nested": (_loop(lambda x, n: n[0] > 0, _nested), [torch.ones(3), torch.tensor([2.0])]),
}
_COUNT = _loop(lambda x, n: n[0] > 0, lambda x, n: (torch.bitwise_xor(x + n, n), n - 1))


@pytest.mark.parametrize("name", _LOOPS)
def test_results(name: str) -> None:
    function, inputs = _LOOPS[name]
    _check(function, inputs, _FLOAT)


@pytest.mark.parametrize("scheme", ["int8", "a16w8"])
@pytest.mark.parametrize("name", [name for name in _LOOPS if name != "nested"])  # torchao does not prepare those
def test_quantized(name: str, scheme: str) -> None:
    """PT2E quantizes the body; what goes round is INT32, so that the errors of steps do not add up."""
    function, inputs = _LOOPS[name]
    run = Execution(exported(Apply(function), tuple(inputs), _QUANTIZED, scheme), _QUANTIZED.target(), check=True)
    (region,) = run.regions
    (loop,) = [op for op in region.graph.ops if op.name == "WHILE_LOOP"]
    assert {t.dtype for t in loop.outputs} == {DType.INT32}
    for ours, eager in run.edges(inputs):
        assert not eager.dtype.is_floating_point
        torch.testing.assert_close(ours, eager, rtol=0, atol=1)


def test_integers() -> None:
    _check(_COUNT, [torch.arange(6, dtype=torch.int32), torch.tensor([5], dtype=torch.int32)], _INTEGER)


def _check(function: Step, inputs: list[torch.Tensor], spec: TosaCompileSpec) -> None:
    program = torch.export.export(Apply(function), tuple(inputs))
    run = Execution(program, spec.target(), check=True)
    (region,) = run.regions
    assert "WHILE_LOOP" in {op.name for op in region.graph.ops}
    assert not run.analysis.rejected
    for ours, eager in run.edges(inputs):
        torch.testing.assert_close(ours, eager)
    (flatbuffer,) = run.flatbuffers
    assert serialize(load(flatbuffer), spec.tosa_spec) == flatbuffer


def test_both_flows_delegate_it() -> None:
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    from arm_tosa_core import TOSAPartitioner

    function, inputs = _LOOPS["two"]
    program = torch.export.export(Apply(function), tuple(inputs))
    fast, _ = lower_to_edge(program, _FLOAT)
    ordinary = to_edge_transform_and_lower(
        copy_program(program),
        partitioner=[TOSAPartitioner(_FLOAT)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    for edge in (fast, ordinary):
        targets = [str(n.target) for n in edge.exported_program().graph.nodes if n.op == "call_function"]
        assert [t for t in targets if "getitem" not in t] == ["executorch_call_delegate"]


@pytest.mark.parametrize(
    ("spec", "function", "reason"),
    [
        ("TOSA-1.0+FP", _LOOPS["one"][0], "needs cf in the specification"),
        (
            "TOSA-1.0+FP+cf",
            _loop(lambda x: x.sum() < 9, lambda x: (x.cummax(-1)[0] + 1,)),
            "cummax in its graph there is no rule",
        ),
        ("TOSA-1.0+INT+cf", _LOOPS["one"][0], "computes in float"),
    ],
)
def test_a_loop_that_stays_outside(spec: str, function: Step, reason: str) -> None:
    program = torch.export.export(Apply(function), (torch.ones(3),))
    run = Execution(program, TosaCompileSpec(spec).target())
    assert any(reason in str(why) for why in run.analysis.rejected.values()), run.analysis.rejected
