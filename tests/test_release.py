"""``nox -s bench-all``: what the pages show has a step, a run goes on where it stopped, and old figures are found."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from test_benchmarks import ROW, ROWS
from test_benchmarks_real import _registry
from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from benchmarks import gallery, release
from benchmarks.charts import CHARTS
from benchmarks.lowering import MODELS, STACKS
from benchmarks.registry import NETWORKS
from benchmarks.release_steps import STEPS, Step
from benchmarks.results import commit_of

BY_NAME = {step.name: step for step in STEPS}
OPTIONS = argparse.Namespace(litert="", cmsis_nn="", steps=[])


def _names(step: Step) -> set[str]:
    """The networks of a step; those of benchmarks.real can only be imported beside the packages that it fetches."""
    lists = _registry()
    if step.name == "kept":
        return {name for names in lists.values() for name in names}
    trained = {*lists["CHOSEN_ON"], *lists["HELD_OUT"]}
    if step.name in ("real", "cells"):
        return trained | (set(NETWORKS) if step.name == "cells" else set())
    return set(release.names(step))


def test_each_figure_of_the_pages_comes_from_a_step() -> None:
    """And so does each network of it, where the step lists networks."""
    asked = [figure for figures in release.shown(ROWS).values() for figure in figures]
    for chart in CHARTS.values():
        figures = release.Shown(ROWS)
        chart(figures)
        asked += figures.asked
    benchmarks = {benchmark for benchmark, _, _ in asked if benchmark} | set(gallery.SOURCES)
    assert benchmarks <= set(BY_NAME), "add a step to benchmarks/release_steps.py"
    for name in sorted(benchmarks):
        step = BY_NAME[name]
        if step.each:
            said = {word for command in step.commands for word in command.split()}
            networks = {case["network"] for benchmark, case, _ in asked if benchmark == name and "network" in case}
            assert networks <= _names(step) | said | (set(MODELS + STACKS) if name == "lowering" else set()), name
    unmeasured = set(gallery.unmeasured(gallery.cells(ROWS)))
    assert unmeasured <= {word for step in STEPS for word in [*_names(step), *" ".join(step.commands).split()]}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step.name))
def test_commands_of_a_step_exist(step: Step) -> None:
    for command in [*step.commands, step.device] if step.device else step.commands:
        module = ROOT / "benchmarks" / command.split()[0].replace(".", "/")
        (source,) = (file for file in (module.with_suffix(".py"), module / "__main__.py") if file.is_file())
        text = source.read_text()
        shared = "networks=" if "parser_of(" in text else ""  # of benchmarks.registry, which has others by name
        for option in re.findall(r" --([\w-]+)", command):
            assert f'"--{option}"' in text or (shared and f"{option}=" in text + shared), option
        assert set(re.findall(r"{(\w+)}", command)) <= {"each", "python", "work", *step.needs}
    assert set(step.needs) <= set(release.NEEDS)
    assert ("{each}" in "".join(step.commands)) == bool(step.each)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Step]:
    """Two, of three commands that append a word to the file ``log``; ``b`` ends badly until the file ``mended`` is."""
    made = [Step("one", ["a", "b"]), Step("two", ["c"])]
    text = "import pathlib, sys; w = sys.argv[1]; print(w, file=open('log', 'a')); "
    text += "sys.exit(w == 'b' and not pathlib.Path('mended').exists())"
    monkeypatch.setattr(release, "STEPS", made)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "WORK", tmp_path / "work")
    monkeypatch.setattr(release, "_words", lambda command: [sys.executable, "-S", "-c", text, command])
    monkeypatch.setattr(release, "commit_of", lambda root: "0123456")
    return made


def test_a_run_goes_on_where_it_stopped(steps: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, log = tmp_path / "release.json", tmp_path / "log"
    assert release.run(steps[:1], OPTIONS, record) == 1
    with monkeypatch.context() as patch, pytest.raises(ValueError, match="of 0123456 is not complete, for want of two"):
        patch.setattr(release, "commit_of", lambda root: "fedcba9")
        release.run(steps, OPTIONS, record)
    (tmp_path / "mended").touch()
    assert release.run(steps, OPTIONS, record) == 0
    assert log.read_text().split() == ["a", "b", "b", "c"]
    assert release.run(steps, OPTIONS, record) == 0
    assert log.read_text().split() == ["a", "b", "b", "c"], "nothing is left"
    state = json.loads(record.read_text())
    assert state["commit"] == "0123456" and state["failed"] == []
    assert {step: [*done] for step, done in state["done"].items()} == {"one": ["a", "b"], "two": ["c"]}
    monkeypatch.setattr(release, "commit_of", lambda root: "fedcba9")
    release.run(steps[1:], OPTIONS, record)
    assert json.loads(record.read_text())["commit"] == "fedcba9"


def test_sources_with_changes_are_not_measured(
    steps: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "commit_of", lambda root: "0123456+")
    with pytest.raises(ValueError, match="commit first"):
        release.run(steps, OPTIONS, tmp_path / "release.json")


def test_a_step_that_lacks_something_is_named(
    steps: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.run([replace(steps[1], needs=["litert"])], OPTIONS, tmp_path / "release.json") == 0
    assert (
        capsys.readouterr().out
        == "two is left out: it needs --litert PYTHON, with litert-torch and ai-edge-quantizer\n"
    )


def test_figures_of_other_commits_are_found() -> None:
    new = replace(ROW, commit="fedcba9", case=ROW.case | {"target": "ethos-u85-256"})
    found = [line for line in release.pages([ROW, new], "fedcba9") if "compile-time" in line]
    assert found == ["benchmarks.md: compile-time: 1 of 2 figures are older: 1 of 0123456"]
    assert not [line for line in release.pages([new], "fedcba9") if ": " in line]


def test_results_and_documents_are_no_sources(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y.z", *words], cwd=tmp_path, check=True)

    files = [tmp_path / name for name in ("benchmarks/results/x.jsonl", "docs/x.md", "x.py")]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    git("init", "-q")
    assert commit_of(tmp_path) == "unknown"
    git("add", ".")
    git("commit", "-qm", "x")
    for file in files[:2]:
        file.write_text("changed")
    assert re.fullmatch(r"[0-9a-f]{7}", commit_of(tmp_path))
    files[2].write_text("changed")
    assert re.fullmatch(r"[0-9a-f]{7}\+", commit_of(tmp_path))
