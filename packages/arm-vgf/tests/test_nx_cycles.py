"""Rewrites for VGF that the NX estimator chooses, with a program of the test's own in its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from nx_stand_in import installed, runs

from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.support import passing
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf import VgfCompileSpec
from arm_vgf.nx_cycles import NxCycles

pytestmark = pytest.mark.usefixtures("no_estimator")
#: A cycle for each word of the VGF: two operators take more than one.
RATES = """
size = len(pathlib.Path(arguments["-i"]).read_bytes())
write({"total_cycles": size // 4, "inference_time": 0.001, "dram_footprint": 1})
"""
_REFUSES = "sys.exit('no such operator')"


def _once(match: Match) -> Tensor:
    """Of two, one."""
    return match.insert("CLZ", match["before"].inputs[0])


def _twice(match: Match) -> Tensor:
    """Dearer, and of no use."""
    return match.insert("CLZ", match.insert("CLZ", match.op.inputs[0]))


def _any(match: Match) -> str | None:
    return None


def _first(match: Match) -> str | None:
    maker = match.op.inputs[0].producer
    return "there is a CLZ before" if maker is not None and maker.name == "CLZ" else None


PAIR = Pattern("CLZ", {0: Pattern("CLZ", name="before")})
ONCE = Choice("once", PAIR, _once, _any, around=lambda graph, op: list(graph.ops))
TWICE = Choice("twice", Pattern("CLZ"), _twice, _first, around=lambda graph, op: list(graph.ops))


def graph_of(count: int) -> Graph:
    graph = Graph()
    x = graph.input("x", (1, 4), DType.INT32)
    for _ in range(count):
        x = graph.append("CLZ", [x]).output
    graph.outputs = [x]
    return graph


def chosen(monkeypatch: pytest.MonkeyPatch, choice: Choice, count: int) -> int:
    """How many operators are left."""
    monkeypatch.setattr("arm_vgf.choices.CHOICES", (choice,))
    return len(legalize(graph_of(count), VgfCompileSpec().target()).ops)


def test_the_estimator_chooses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert chosen(monkeypatch, ONCE, 2) == 2  # it is not installed
    program = installed(tmp_path / "bin", RATES)
    assert chosen(monkeypatch, ONCE, 2) == 1
    asked = len(runs(program))
    assert asked == 2 and chosen(monkeypatch, ONCE, 2) == 1 and len(runs(program)) == asked
    assert chosen(monkeypatch, TWICE, 1) == 1


def test_a_program_that_refuses_chooses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(tmp_path / "bin", _REFUSES)
    assert chosen(monkeypatch, ONCE, 2) == 2
    assert not list((tmp_path / "cache").rglob("*-choices/*"))


def test_figures_are_those_of_one_program_with_one_setting(tmp_path: Path) -> None:
    spec = VgfCompileSpec().tosa_spec
    one, two = (serialize(graph_of(count), spec) for count in (1, 2))
    assert NxCycles().key(one) is None and NxCycles().cycles([one]) == [None]
    program = installed(tmp_path / "bin", RATES)
    (program.parent / "fast.ini").write_text("fast")
    every = [NxCycles(), NxCycles("fast"), NxCycles(flags=("--emit-debug-info",))]
    keys = {estimate.key(tosa) for estimate in every for tosa in (one, two)} | {NxCycles().key(one, {"at": 1})}
    assert len(keys) == 7
    first, second = NxCycles().cycles([one, two])
    assert first is not None and second is not None and first < second
    program.write_text(program.read_text() + "\n")
    assert NxCycles().key(one) not in keys


def test_a_program_that_dies_has_no_figure(tmp_path: Path) -> None:
    installed(tmp_path / "bin", "os.kill(os.getpid(), 11)")
    failures = passing.failures()
    assert NxCycles().cycles([serialize(graph_of(1), VgfCompileSpec().tosa_spec)]) == [None]
    assert passing.failures() > failures
