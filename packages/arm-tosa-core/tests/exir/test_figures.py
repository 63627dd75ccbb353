"""The figures of a compilation: joined over delegates, and nothing made up."""

from __future__ import annotations

import json

import pytest

from arm_tosa_core.exir.compiled_delegate import CompiledDelegate
from arm_tosa_core.exir.figures import Figures
from arm_tosa_core.exir.report import Report, Row
from arm_tosa_core.support import foreign

ROW = Row("add", "aten.add.Tensor")


def figures_of(*delegates: dict[str, float]) -> Figures:
    compiled = [CompiledDelegate(said) for said in delegates]
    return Report("acme", len(compiled), [ROW, ROW], [ROW], compiled=compiled).figures(100, 0.5)


def test_delegates_run_one_after_the_other() -> None:
    found = figures_of(
        {"cycles": 100, "clock_hz": 1e3, "sram_kib": 2, "flash_kib": 1},
        {"cycles": 300, "clock_hz": 1e3, "sram_kib": 1, "flash_kib": 3},
    )
    assert found == Figures(2, 1, 2, 400, 1e3, 2048, None, 4096, 100, 0.5)
    assert found.inferences_per_second == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("second", "bytes_"),
    [
        ({"dram_kib": 9, "constants_in_dram_kib": 2}, (7 + 3 + 2) * 1024),
        ({"dram_kib": 9}, (9 + 3) * 1024),
        ({"constants_in_dram_kib": 2}, None),
    ],
)
def test_delegates_share_dram_of_tensors_and_have_constants_of_their_own(
    second: dict[str, float], bytes_: int | None
) -> None:
    assert figures_of({"dram_kib": 8, "constants_in_dram_kib": 3}, second).dram_bytes == bytes_


@pytest.mark.parametrize(
    "delegates", [(), ({},), ({"cycles": 100}, {})], ids=["no delegate", "nothing said", "not said of all"]
)
def test_what_nobody_says_is_not_made_up(delegates: tuple[dict[str, float], ...]) -> None:
    found = figures_of(*delegates)
    assert (found.cycles, found.clock_hz, found.sram_bytes, found.inferences_per_second) == (None,) * 4


def test_other_commands_than_the_compilers_are_timed() -> None:
    said = CompiledDelegate({"cycles": 100, "clock_hz": 1e3})
    report = Report("acme", 2, [ROW], compiled=[said.timed(150), said.timed(50)])
    found = report.figures(7, 0.1)
    assert (found.cycles, found.cycles_by, found.cycles_title) == (
        200,
        "timing model",
        "cycles, estimated by the timing model",
    )
    assert "cycles, estimated by the timing model" in report._repr_html_()
    assert foreign.record(Report, json.loads(json.dumps(report.to_json()))) == report
    assert figures_of(said.figures).cycles_title == "cycles, estimated by the compiler"


def test_a_graph_has_no_operators_of_a_model() -> None:
    found = Figures.of_graph(CompiledDelegate({"cycles": 10}), 7, 0.1)
    assert (found.delegated, found.on_cpu, found.delegates, found.cycles, found.file_bytes) == (None, None, 1, 10, 7)


def test_controls_of_terminals_are_escaped() -> None:
    """The cache may have somebody else's report."""
    report = Report("ac\x7fme", 1, [ROW], [Row("mul", "aten.mul.Tensor", reason="no \x1b[31mkernel")])
    assert [text for _, text in report._summary() if "\\x" in text] == ["ac\\x7fme", "no \\x1b[31mkernel"]
    assert "\x1b" not in report._repr_html_()
