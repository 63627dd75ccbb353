"""One object takes a program through the stages, in their order, and lowers each operator once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from flow_kit import Net, export, quantize
from torch.fx import Node

from arm_tosa_core import TosaCompileSpec
from arm_tosa_core.exir.compilation import Compilation
from arm_tosa_core.lowering.lowering import Lowering
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.rewrite_engine import Observer, Statistics, observed

X = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))
INT = TosaCompileSpec("TOSA-1.0+INT")
FP = TosaCompileSpec("TOSA-1.0+FP")


def two_regions(net: Net, x: torch.Tensor) -> torch.Tensor:
    """What the target takes, what it does not, and what it takes; the last part also reads the first."""
    first = torch.relu(net.conv(x))
    outside = torch.cummax(first, -1)[0]
    return net.conv2(first) + outside


class Stages(Observer):
    """Notes the stages that are over."""

    def __init__(self) -> None:
        self.seen: list[Stage] = []

    def finished(self, graph: Graph, stage: Stage, statistics: Statistics | None) -> None:
        self.seen.append(stage)


def test_stages_run_in_order_as_far_as_is_asked() -> None:
    program = export(Net(lambda net, x: net.conv(x).relu_()), (X,))
    compilation = Compilation(program, FP.target(), decompose_rest=True)
    assert compilation.run(Stage.CANONICALIZE).stage is Stage.CANONICALIZE
    assert torch.ops.aten.relu.default in {node.target for node in compilation.program.graph.nodes}
    assert torch.ops.aten.relu_.default in {node.target for node in program.graph.nodes}  # left as it is
    assert compilation.run(Stage.LOWER).stage is Stage.LOWER and compilation.analysis.accepted
    watch = Stages()
    with observed(watch):
        (region,) = compilation.regions()
    assert compilation.stage is Stage.LAY_OUT and watch.seen[-2:] == [Stage.OPTIMIZE, Stage.LEGALIZE]
    assert compilation.report.delegates == 1 and region.graph.ops


@pytest.mark.parametrize("spec", [INT, FP], ids=["int", "fp"])
def test_an_operator_is_lowered_once(spec: TosaCompileSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once to learn that it can be and once for its delegate."""
    lowered: Counter[str] = Counter()
    lower = Lowering.lower

    def counted(self: Lowering, node: Node) -> Any:
        lowered[node.name] += 1
        return lower(self, node)

    monkeypatch.setattr(Lowering, "lower", counted)
    net = Net(lambda net, x: net.conv2(torch.relu(net.conv(x))))
    program = quantize(net, (X,)) if spec is INT else export(net, (X,))
    (region,) = Compilation(program, spec.target(), decompose_rest=True).regions()
    assert {"CONV2D"} <= {op.name for op in region.graph.ops}
    assert set(lowered.values()) == {1}


def test_a_region_that_reads_another_gets_what_pytorch_has_there() -> None:
    """Not the integers or the order of axes in which the other region has it."""
    compilation = Compilation(export(Net(two_regions), (X,)), FP.target(), decompose_rest=True)
    first, second = compilation.regions()
    assert len(second.inputs) == 2 and len(set(first.outputs) & set(second.inputs)) == 1
    names = [node.name for node in second.inputs]
    assert [tensor.name for tensor in second.graph.inputs] == names
    shapes = [tuple(node.meta["val"].shape) for node in second.inputs]
    assert [tensor.shape for tensor in second.graph.inputs] == shapes
