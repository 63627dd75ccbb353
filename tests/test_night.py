"""What a night still runs, and what clang-tidy still reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import changes
import night

SESSIONS = ["lint", "types", "tests", "fuzz", "hostile"]
HISTORY = {"first": 0, "second": 1, "third": 2}


def passed(**commits: str) -> night.Record:
    return {name: night.Pass(commit=commit, date="2026-11-28", seconds=60) for name, commit in commits.items()}


COMPILER, PAGE = "packages/arm-ethosu/src/arm_ethosu/vela.py", "docs/index.md"
#: What has changed since each commit.
CHANGED = {"first": {COMPILER, PAGE}, "second": {PAGE}, "third": {"tests/results/nightly.json"}}


@pytest.mark.parametrize(
    ("record", "due"),
    [
        ({}, SESSIONS),
        (passed(lint="third", types="third", tests="third", fuzz="third", hostile="third"), []),
        (passed(lint="third", types="second", tests="second", fuzz="first"), ["hostile", "fuzz", "types"]),
        (
            passed(lint="second", types="second", tests="other", fuzz="first", hostile="third"),
            ["tests", "fuzz", "lint", "types"],
        ),
    ],
)
def test_what_never_passed_comes_first_and_then_what_passed_long_ago(record: night.Record, due: list[str]) -> None:
    assert night.due(SESSIONS, record, HISTORY, CHANGED.get) == due


def test_words_choose_sessions() -> None:
    assert night.chosen(SESSIONS, ["hostile", "lint"]) == ["hostile", "lint"]
    with pytest.raises(ValueError, match="no session of the night: lnt; there are lint, types"):
        night.chosen(SESSIONS, ["lnt", "lint"])


def test_a_pass_replaces_the_one_before_and_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "nightly.json"
    assert night.read(file) == {}
    night.write(passed(fuzz="first", lint="first", gone="first"), SESSIONS, file)
    night.write(night.read(file) | passed(lint="second"), SESSIONS, file)
    assert night.read(file) == passed(lint="second", fuzz="first")
    assert [*json.loads(file.read_text())] == ["lint", "fuzz"]


@pytest.mark.parametrize(
    ("results", "passed"),
    [(["success", "success"], True), (["success", "skipped"], False), (["failed"], False), ([], False)],
)
def test_a_session_that_is_skipped_has_not_passed(results: list[str], passed: bool, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"result": 1, "sessions": [{"name": "lint", "result": result} for result in results]}))
    assert night.all_passed(report) is passed


@pytest.mark.parametrize(
    ("session", "changed", "left_out"),
    [
        ("wheels", {"packages/arm-ethosu/src/arm_ethosu/vela.py", "constraints.txt.old"}, True),
        ("wheels", {"packages/arm-ethosu/pyproject.toml"}, False),
        ("wheels", {"packages/arm-runtime-cpp/src/vgf/session.cpp"}, False),
        ("pythons", {"packages/arm-runtime-cpp/src/vgf/session.cpp"}, True),
        ("plugin", {"tests/plugins/acme-npu/pyproject.toml"}, False),
        ("rival-sample", {"packages/arm-tosa-core/src/arm_tosa_core/quantize/scales.py"}, False),
        ("rival-sample", {"packages/arm-tosa-core/src/arm_tosa_core/sweep/run.py"}, True),
        ("rival-sample", None, False),  # git does not know the commit
        ("operators-vgf", {"packages/arm-vgf/src/arm_vgf/target.py"}, False),
        ("operators-cortex-m", {"packages/arm-cortex-m/src/arm_cortex_m/kernels/files/tosa_conv2d_s4.c"}, False),
        ("operators-vgf", {COMPILER, PAGE}, True),
        ("versions(which='oldest')", {"packages/arm-vgf/tests/test_target.py"}, False),
        ("versions(which='oldest')", {f"{changes.RUNTIME}/tests/vgf/test_session.py", PAGE}, True),
        ("lint", {PAGE}, False),
        ("lint", {"tests/results/programs.jsonl"}, True),
    ],
)
def test_what_has_not_changed_is_left_out_what_has_not_changed(
    session: str, changed: set[str] | None, left_out: bool
) -> None:
    record = passed(**{session: "first"})
    assert night.left_out(session, record, {"first": changed}.__getitem__) is left_out
    assert not night.left_out(session, {}, {"first": changed}.__getitem__)


@pytest.mark.parametrize("session", night.SOURCES)
def test_what_a_session_is_there_for_exists(session: str) -> None:
    assert all((changes.ROOT / source).exists() for source in night.SOURCES[session])


RUNTIME = changes.RUNTIME
SESSION, BLOCKS = f"{RUNTIME}/src/vgf/session.cpp", f"{RUNTIME}/src/ethosu/model/blocks.cpp"


@pytest.mark.parametrize(
    ("changed", "read", "unread"),
    [
        (SESSION, {SESSION}, {BLOCKS}),
        (f"{RUNTIME}/src/vgf/vulkan_api.hpp", {SESSION}, {BLOCKS}),  # through instance.hpp
        (f"{RUNTIME}/include/arm_runtime/vgf.hpp", {SESSION}, {BLOCKS}),
        (f"{RUNTIME}/src/ethosu/model/blocks.hpp", {BLOCKS}, {SESSION}),
        ("packages/arm-vgf/src/arm_vgf/health.py", set(), {BLOCKS, SESSION}),
    ],
)
def test_clang_tidy_reads_what_includes_a_change(changed: str, read: set[str], unread: set[str]) -> None:
    found = changes.cpp_to_read({changed})
    assert found is not None and read <= {*found} and not unread & {*found}


@pytest.mark.parametrize("rule", [".clang-tidy", "cmake/ArmRuntimeHost.cmake", "src/vgf/CMakeLists.txt"])
def test_clang_tidy_reads_all_where_its_rules_change(rule: str) -> None:
    assert changes.cpp_to_read({f"{RUNTIME}/{rule}", SESSION}) is None
