"""An analysis is updated for the nodes that an edit touched: no other is lowered again, and the result is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.exir.backend.operator_support import DontPartition
from torch.export import ExportedProgram
from torch.fx import Node

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.exir.compilation import Compilation
from arm_tosa_core.exir.operator_checks import node_checks
from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.lowering.walk import Walk, described
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.tosa.serializer import serialize
from programs.draw import draw
from programs.program import Way, imports

ATEN = torch.ops.aten
DEPTH = 6


class Deep(torch.nn.Module):
    """Layers, and what is done with their result."""

    def __init__(self, end: Callable[..., Any]) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Conv2d(4, 4, 3, padding=1) for _ in range(DEPTH)))
        self.end = end

    def forward(self, x: torch.Tensor, *others: torch.Tensor) -> Any:
        return self.end(self.layers(x), *others)


X = torch.randn(1, 4, 8, 8)
#: What makes an edit, or has nodes refused that lower by themselves, and operators to keep on the CPU.
EDITS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "operators outside are decomposed": (lambda y: torch.nn.functional.silu(y).relu(), [ATEN.silu.default]),
    "the CPU is given a row-major copy": (lambda y: torch.cummax(y.permute(0, 2, 3, 1), 1)[0].relu(), []),
    "a region is given zeros for what it does not read": (
        lambda y, z: torch.addmm(y[0, 0], z[0, 0], z[0, 1].sigmoid(), alpha=0).relu(),
        [ATEN.sigmoid.default],
    ),
    "what is handed on as it is stays outside": (lambda y, z: (y.relu(), torch.cummax(z.expand(1, 4, 8, 8), 1)[0]), []),
}


class Watched:
    """The walks of compilations, and which nodes they lowered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.walks: dict[Walk, list[Node]] = {}
        self.from_scratch = False
        step, same = Walk._step, Walk._same

        def lowered(self_: Walk, node: Node) -> Any:
            self.walks.setdefault(self_, []).append(node)
            return step(self_, node)

        monkeypatch.setattr(Walk, "_step", lowered)
        monkeypatch.setattr(Walk, "_same", lambda self_, node: None if self.from_scratch else same(self_, node))

    def compile(self, program: ExportedProgram, spec: Any, outside: list[Any], *, from_scratch: bool) -> Any:
        """All that is found out of a program, and the bytes of its delegates."""
        self.walks.clear()
        self.from_scratch = from_scratch
        target = spec.target()
        compilation = Compilation(program, target, node_checks([DontPartition(*outside)]), decompose_rest=True).run()
        analysis = compilation.analysis
        found = [
            {node.name: region for node, region in analysis.accepted.items()},
            {node.name: str(why) for node, why in analysis.rejected.items()},
            {node.name for node in analysis.constant},
            [node.name for node in analysis.calls],
        ]
        graphs = [
            (serialize(region.graph, target.tosa_spec), [n.name for n in (*region.inputs, *region.outputs)])
            for region in compilation.regions()
        ]
        return found, graphs

    def again(self) -> list[list[Node]]:
        """Of every walk that followed another, the nodes that it lowered; all of them may have been touched."""
        for one, nodes in self.walks.items():
            if one._earlier is not None:
                assert not (strange := set(nodes) - _touched(one)), strange
        return [nodes for one, nodes in self.walks.items() if one._earlier is not None]


def _touched(one: Walk) -> set[Node]:
    """Nodes that are new, called or read in another way, or refused; what reads them; what reads the same as these."""
    assert one._earlier is not None
    steps, found = one._earlier.steps, set[Node]()
    before = {node.name: node for node in one._earlier.lowering.values}
    for node in one._lowering.program.graph.nodes:
        known = node.name in steps and described(steps[node.name].node) == described(node)
        outside = node.name not in steps and node.name in before and described(before[node.name]) == described(node)
        val, wide = node.meta.get("val"), one._lowering.wide_inputs is not one._earlier.lowering.wide_inputs
        narrowed = wide and isinstance(val, torch.Tensor) and val.dtype == torch.int64
        narrowed = narrowed and node.name not in one._lowering.constants
        changed = (not known and not outside) or node in one._refused or narrowed
        if changed or found.intersection(node.all_input_nodes):
            found.add(node)
            found.update(user for operand in node.all_input_nodes for user in operand.users)
    return found


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_has_only_what_it_touched_lowered_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    end, outside = EDITS[name]
    inputs = (X, X) if end.__code__.co_argcount == 2 else (X,)
    program = torch.export.export(Deep(end).eval(), inputs)
    watched, spec = Watched(monkeypatch), TosaCompileSpec("TOSA-1.0+FP")
    expected = watched.compile(program, spec, outside, from_scratch=True)
    assert len(watched.walks) > 1
    assert watched.compile(program, spec, outside, from_scratch=False) == expected
    for nodes in watched.again():
        assert sum(node.target is ATEN.conv2d.default for node in nodes) <= 1  # the last one, if its reader is another


@pytest.mark.parametrize("scheme", ["float", "int8"])
@pytest.mark.filterwarnings("ignore")
def test_an_updated_analysis_is_that_from_scratch(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random programs."""
    way, several = Way("lower", "tosa", scheme), 0
    watched = Watched(monkeypatch)
    for seed in range(12):
        drawn = draw(f"scans.{seed}", way)
        scope: dict[str, Any] = {}
        try:
            for text in (imports(way), *list(drawn.steps(way).values())[:3]):
                exec(text, scope)
        except Exception:  # PyTorch does not export it, or we refuse it: other tests are about that
            continue
        spec = scope.get("spec") or compile_spec_of("tosa")
        outside = [node.target for node in scope["program"].graph.nodes if node.op == "call_function"][-2:-1]
        try:
            expected = watched.compile(scope["program"], spec, outside, from_scratch=True)
        except UsageError:
            continue
        several += len(watched.walks) > 1
        assert watched.compile(scope["program"], spec, outside, from_scratch=False) == expected, drawn.alone(way)
        watched.again()
    assert several > 2
