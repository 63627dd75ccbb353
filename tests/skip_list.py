"""A pytest plugin: every skipped test must be on a list; one that is not makes the run fail.

``tests/skips.txt`` is that list. A test that is skipped looks much like one that passes, and a check that got too broad
would go unnoticed. ``conftest.py`` in the repository's root loads this plugin for every run of its tests.
"""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("skips.txt")
#: What the first column may hold.
_PLACES = ("always", "missing", "elsewhere")


@dataclass(frozen=True)
class Row:
    """Skips that are right.

    Args:
        where: ``always``; or ``missing`` for want of a tool, which CI must have: there the row does not count; or
            ``elsewhere``, where the device or the target is another than in CI's run of all tests.
        test: the test's node id, a pattern of ``fnmatch`` in which brackets are no pattern.
        reason: the reason given, a pattern like that.
        why: why it is right to skip.
    """

    where: str
    test: str
    reason: str
    why: str

    def admits(self, test: str, reason: str) -> bool:
        """Whether this skip is of the row."""
        return _matches(test, self.test) and _matches(reason, self.reason)


def _matches(text: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


def read(file: Path) -> list[Row]:
    """The rows of a list: lines ``where | test | reason | why``; empty ones and those that begin with # do not count.

    Raises:
        pytest.UsageError: a line has another form.
    """
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ")]
        if len(parts) != 4 or not all(parts) or parts[0] not in _PLACES:
            raise pytest.UsageError(f"{file}:{number}: expected 'WHERE | TEST | REASON | WHY', got {line!r}")
        rows.append(Row(*parts))
    return rows


class SkipList:
    """Counts the skips of a run; fails it if one is not on the list.

    Args:
        rows: the list.
        ci: whether this is CI, where no tool may be missing.
        whole: whether every test is run, so that a row without a skip is one too many.
    """

    def __init__(self, rows: list[Row], *, ci: bool, whole: bool) -> None:
        self.rows = [row for row in rows if not (ci and row.where == "missing")]
        self.whole = whole
        self.listed: Counter[Row] = Counter()
        self.unlisted: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        longrepr = report.longrepr
        reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
        self.add(report.nodeid, reason.removeprefix("Skipped: "))

    def add(self, test: str, reason: str) -> None:
        """Counts one skip."""
        reason = " ".join(reason.split())
        for row in self.rows:
            if row.admits(test, reason):
                self.listed[row] += 1
                return
        self.unlisted.append((test, reason))

    def unused(self) -> list[Row]:
        """Rows that no skip was of, where that says something."""
        return [row for row in self.rows if row.where == "always" and not self.listed[row]] if self.whole else []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.unlisted and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        if self.listed:
            terminalreporter.section("skips on the list (tests/skips.txt)")
            for row, count in self.listed.items():
                write(f"{count} of {row.test}: {row.why}")
        if unused := self.unused():
            terminalreporter.section("rows of tests/skips.txt that no skip was of", yellow=True)
            for row in unused:
                write(f"{row.test} | {row.reason}")
            write("Delete them, if these tests now run wherever the suite does.")
        if self.unlisted:
            terminalreporter.section("skips that are not on the list", red=True)
            for test, reason in self.unlisted:
                write(f"{test}: {reason}")
            write("The run fails for them. Make these tests run: install what they need, or mend the check that skips")
            write("them. Where skipping is right, add a row to tests/skips.txt that says why.")


class _ModulesMayNotSkip:
    """Turns the skip of a whole module into an error: pytest-xdist keeps such skips from everyone who would count."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> object:
        report = yield
        if report.skipped:
            report.outcome = "failed"
            report.longrepr = f"{collector.nodeid} skips as a whole; skip in a fixture of its tests, which is counted"
        return report


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("skips", "skips that are right")
    group.addoption("--skip-list", metavar="FILE", type=Path, default=LIST, help="default: tests/skips.txt")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_ModulesMayNotSkip(), "modules-may-not-skip")
    if hasattr(config, "workerinput"):
        return  # of pytest-xdist; the process that started it gets every report
    option = config.option
    narrowed = (option.keyword, option.markexpr, option.deselect, option.ignore, option.ignore_glob, option.maxfail)
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS and not any(narrowed)
    skips = SkipList(read(option.skip_list), ci=bool(os.environ.get("CI")), whole=whole)
    config.pluginmanager.register(skips, "skip-list")
