"""``docs/benchmarks.md`` is what the committed measurements say, and measurements are what their fields promise."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from benchmarks import opinfo, page
from benchmarks.documents import with_block
from benchmarks.figures import Figures
from benchmarks.results import RESULTS, Measurement, Run, default_file, read, record
from benchmarks.tables import compile_time

ROWS = read(RESULTS)
ROW = Measurement(
    benchmark="lowering",
    case={"network": "toy", "target": "ethos-u55-128"},
    side="ours",
    metrics={"lower_s": 2.0},
    commit="0123456",
    date="2026-11-24T10:00:00",
    machine="a machine",
    versions={"torch": "2.13.0"},
    command="python -m benchmarks.lowering --models toy",
)


def test_page_is_current() -> None:
    assert page.stale() == [], "run: python -m benchmarks.page"


def test_page_is_stale_after_a_new_measurement(tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(RESULTS, results)
    old = next(row for row in ROWS if row.benchmark == "lowering" and row.side == "ours" and "cycles" in row.metrics)
    faster = {"lower_s": old.metrics["lower_s"] / 2, "cycles": old.metrics["cycles"] // 2}
    list(record(results / "lowering.jsonl", [replace(old, metrics=faster, date="2099-01-01T00:00:00")]))
    assert set(page.stale(results)) >= {
        "benchmarks.md: means",
        "benchmarks.md: compile-time",
        "benchmarks.md: delegation",
        "compile-time.svg",
        "cycles.svg",
    }


def test_chart_that_is_missing_is_stale(tmp_path: Path) -> None:
    assert page.stale(images=tmp_path) == ["compile-time.svg", "cycles.svg", "accuracy.svg"]


def test_measurements_say_where_they_are_from() -> None:
    for row in ROWS:
        assert row.metrics and row.case and row.machine and row.versions, row
        assert re.fullmatch(r"[0-9a-f]{7,40}\+?", row.commit), row
        assert row.source or "T" in row.date, f"what a benchmark wrote has the time of its run: {row}"
        command = re.match(r"python -m (benchmarks\.\w+)", row.command)
        assert command and importlib.util.find_spec(command[1]), f"there is no such program: {row}"


def test_each_file_has_the_measurements_of_its_benchmark() -> None:
    for file in RESULTS.glob("*.jsonl"):
        assert {row.benchmark for row in read(file)} == {file.stem}


def test_measurement_survives_its_file(tmp_path: Path) -> None:
    rows = [ROW, replace(ROW, side="rival", source="docs/benchmarks.md at 0123456")]
    assert list(record(tmp_path / "lowering.jsonl", rows)) == rows
    assert read(tmp_path) == rows
    assert "from" not in json.loads(ROW.to_json())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"date": "yesterday"}, "wanted YYYY-MM-DD"),
        ({"commit": None}, "commit is not a text"),
        ({"metrics": [1]}, "metrics is not an object"),
        ({"speed": 3}, "unknown fields: speed"),
    ],
)
def test_bad_line_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = tmp_path / "lowering.jsonl"
    file.write_text(ROW.to_json() + "\n" + json.dumps({**json.loads(ROW.to_json()), **change}) + "\n")
    with pytest.raises(ValueError, match=rf"lowering\.jsonl, line 2: .*{message}"):
        read(file)


def test_missing_field_is_named() -> None:
    row = json.loads(ROW.to_json())
    del row["machine"]
    with pytest.raises(ValueError, match="missing fields: machine"):
        Measurement.from_json(json.dumps(row))


def test_run_knows_commit_machine_and_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/benchmarks/lowering.py", "--models", "a b"])
    run = Run.here("lowering")
    assert run.command == "python -m benchmarks.lowering --models 'a b'"
    assert run.machine and "torch" in run.versions and run.commit
    assert run.measured(ROW.case, "ours", {"lower_s": 1.0}).benchmark == "lowering"


def test_newest_run_counts_and_its_median() -> None:
    later = [replace(ROW, metrics={"lower_s": s}, date="2026-11-25T10:00:00") for s in (5.0, 9.0, 6.0)]
    figures = Figures([*later, ROW, replace(ROW, metrics={"cycles": 7})])
    found = figures.figure("lowering", ROW.case, "ours", "lower_s")
    assert found and (found.value, found.day) == (6.0, "2026-11-25")
    cycles = figures.figure("lowering", ROW.case, "ours", "cycles")  # an older run has it, the newest has not
    assert cycles and cycles.value == 7
    assert figures.figure("lowering", ROW.case, "rival", "lower_s") is None


def test_pairs_of_different_days_are_marked() -> None:
    same = replace(ROW, side="rival", metrics={"lower_s": 8.0})
    assert "| 2.0 / 8.0 (0.25) |" in compile_time(Figures([ROW, same]))
    assert "| 2.0 / 8.0 (0.25) † |" in compile_time(Figures([ROW, replace(same, date="2026-11-25T10:00:00")]))


def test_block_needs_its_marks() -> None:
    text = "a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n"
    assert with_block(text, "x", "new") == "a\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\nb\n"
    with pytest.raises(ValueError, match="needs the marks <!-- y: begin -->"):
        with_block(text, "y", "new")


def test_benchmark_writes_to_the_results_by_default() -> None:
    assert default_file("lowering") == ROOT / "benchmarks" / "results" / "lowering.jsonl"


def test_samples_of_pytorchs_operators() -> None:
    """Of one that is exact, one that is exact but for samples without elements, and one without a rule."""
    sums, sorts, others = (
        opinfo._samples(*case, 3) for case in (("sub", "int32"), ("sort", "float32"), ("svd", "float32"))
    )
    assert {record["outcome"] for record in sums} == {"agrees"}
    assert "agrees" in {record["outcome"] for record in sorts}
    assert {record["outcome"] for record in others} == {"left out"}
