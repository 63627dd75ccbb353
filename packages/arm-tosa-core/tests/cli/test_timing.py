"""Estimates of a target's timing model: ``arm-tosa compile --details``, ``run --profile``, ``verify --details``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_kit import error, graph, line_of, ok, run

from arm_tosa_core.cli.timing import by_line
from arm_tosa_core.plugin.timing import OperatorTime, TimeEstimate, UnitSpan
from arm_tosa_core.tosa.loader import listed_operators

CLOCK = 1e6


def _timing(payload: bytes, tosa: bytes | None) -> TimeEstimate:
    """A cycle for each byte of the payload, all of them the last operator's."""
    if tosa is None:
        return TimeEstimate(len(payload), CLOCK, "fast memory")
    name, source, _ = listed_operators(tosa)[-1]
    operators = [OperatorTime("CONST c", "", 0.0), OperatorTime(f"{name} t", source, len(payload), "adder", 5.0)]
    spans = [UnitSpan("adder", 0.0, len(payload), "add", 1), UnitSpan("copier", 0.0, 2.0, "copy")]
    return TimeEstimate(len(payload), CLOCK, "fast memory", operators, spans, "Acmec", 5.0)


def _compile(tosa: bytes, options: Any) -> bytes:
    return tosa


def _run(payload: bytes, inputs: Any) -> Any:
    from arm_tosa_core.tosa import reference_model

    return reference_model.run(payload, inputs)


@pytest.fixture
def timed(acme: Callable[..., None]) -> None:
    acme(suffix=".acme", compile=_compile, run=_run, timing=_timing)


def test_a_model_is_compiled_with_a_report(folder: Path, timed: None) -> None:
    plain = ok("compile", "models.py:whole", "--target", "acme", "-o", "plain.acme", "--no-cache")
    assert "timing" not in plain
    data = ok("compile", "models.py:whole", "--target", "acme", "-o", "net.acme", "--details", "--trace", "t.json")
    assert Path("net.acme").read_bytes() == Path("plain.acme").read_bytes()  # source lines are for the report alone
    (report,) = data["timing"]
    size = Path("net.acme").stat().st_size
    assert (report["estimated_cycles"], report["estimated_ms"]) == (size, size / CLOCK * 1e3)
    assert (report["system"], report["compiler"], report["compiler_cycles"]) == ("fast memory", "Acmec", 5.0)
    (line, unknown) = report["lines"]
    assert f"models.py:{line_of('return x * x + x')}" in line["source"] and line["cycles"] == size
    assert unknown["source"] == ""
    text = run("compile", "models.py:whole", "--target", "acme", "-o", "net.acme", "--details").stdout
    assert "not a measurement" in " ".join(text.split()) and "estimate by source line" in text


def test_the_trace_has_a_row_for_each_unit(folder: Path, timed: None) -> None:
    ok("compile", "models.py:whole", "--target", "acme", "-o", "net.acme", "--trace", "t.json")
    events = json.loads(Path("t.json").read_text())["traceEvents"]
    names = {(event["name"], event["args"]["name"]) for event in events if event["ph"] == "M"}
    assert names == {("process_name", "estimated"), ("thread_name", "adder"), ("thread_name", "copier")}
    add, copy = (event for event in events if event["ph"] == "X")
    size = Path("net.acme").stat().st_size
    assert (add["ts"], add["dur"], add["args"]["operator"]) == (0.0, size / CLOCK * 1e6, "ADD t")
    assert add["tid"] != copy["tid"] and "operator" not in copy["args"]


def test_a_tosa_file_is_compiled_with_a_report(folder: Path, timed: None) -> None:
    graph(folder / "g.tosa")
    data = ok("compile", "g.tosa", "--target", "acme", "-o", "g.acme", "--details")
    assert data["timing"][0]["lines"] == []  # the file has none
    assert data["timing"][0]["operators"][1]["bound"] == "adder"


def test_a_run_shows_the_estimate_beside_what_was_measured(folder: Path, acme: Callable[..., None]) -> None:
    spans = [(0, 1000, "all")]
    acme(suffix=".acme", run=_run, timing=_timing, profile=lambda data, inputs: (_run(data, inputs), spans))
    graph(folder / "g.tosa")
    Path("g.acme").write_bytes(Path("g.tosa").read_bytes())
    np.save("x.npy", np.zeros((2, 3), np.float32))
    data = ok("run", "g.acme", "--input", "x.npy", "--profile", "t.json")
    assert [event["name"] for event in data["profile"]] == ["all"]
    assert data["timing"][0]["estimated_cycles"] == Path("g.acme").stat().st_size
    events = json.loads(Path("t.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "X"] == ["all"]
    acme(suffix=".acme", run=_run, timing=_timing)  # it cannot measure, but estimate
    assert ok("run", "g.acme", "--input", "x.npy", "--profile", "t.json")["profile"] == []


def test_verify_shows_the_estimate(folder: Path, timed: None) -> None:
    graph(folder / "g.tosa")
    assert "timing" not in ok("verify", "g.tosa", "--target", "acme")
    data = ok("verify", "g.tosa", "--target", "acme", "--details")
    assert data["graphs"][0]["agrees"] and data["timing"][0]["what"] == "g.tosa"


def test_a_target_without_a_timing_model_says_so(folder: Path) -> None:
    graph(folder / "g.tosa")
    compiled = ("compile", "models.py:whole", "--target", "tosa", "-o", "net.tosa")
    assert "'tosa' tells neither times nor memory" in error(*compiled, "--details")
    assert "'tosa' has no timing model" in error(*compiled, "--trace", "t.json")
    assert "leave --details out" in error("verify", "g.tosa", "--target", "tosa", "--details")
    assert not Path("net.tosa").exists()


def test_lines_add_up() -> None:
    rows = [
        OperatorTime("a", "n.py:1", 10.0, "x", 4.0),
        OperatorTime("b", "n.py:2", 30.0, "y", None),
        OperatorTime("c", "n.py:1", 25.0, "z", 1.0),
    ]
    assert by_line(rows) == [
        OperatorTime("2 operators", "n.py:1", 35.0, "z", 5.0),
        OperatorTime("1 operators", "n.py:2", 30.0, "y", None),
    ]
    assert by_line([OperatorTime("a", "", 1.0)]) == []
