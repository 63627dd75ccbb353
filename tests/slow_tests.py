"""A pytest plugin: a run of all tests leaves out the slow ones whose sources are as they were when all tests passed.

A few hundred of 12,000 tests take most of the time. ``tests/results/slow_tests.json`` lists them, with their CPU time
and the commit of the run that measured it. ``nox -s nightly`` runs all tests (``--slow``), and writes that file
(``--record-slow``). ``nox -s tests`` and ``.ci/run`` leave out the listed tests; but one of them runs if git says that
its file, a module beside it or a source that it is there for has changed since that commit. A run of files or tests
that are named leaves out nothing. ``conftest.py`` in the repository's root loads this plugin.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("results") / "slow_tests.json"
#: CPU seconds, of the fixtures that a test was the first to use, too.
SLOW = 2.0
KEY = "cpu_seconds"


def sources(test: str) -> tuple[str, ...]:
    """Files and folders whose change has a slow test run, beside its own file and the modules beside it.

    A test of a package is there for the room of the package that its folder names, or for all of the package. A test in
    ``tests/`` is there for whole flows: it runs in the night where no file of ``tests/`` changes.

    Args:
        test: its file, from the repository's root.
    """
    parts = PurePosixPath(test).parts
    if parts[0] != "packages":
        return ()
    package = "/".join(parts[:2])
    if parts[1] == "arm-runtime-cpp":
        return tuple(f"{package}/{part}" for part in ("src", "include", "python", "cmake", "CMakeLists.txt"))
    source = f"{package}/src/{parts[1].replace('-', '_')}"
    return (f"{source}/{parts[3]}",) if len(parts) > 4 and parts[2] == "tests" else (source,)


def runs(test: str, changed: set[str]) -> bool:
    """Whether changed files make a slow test run.

    Args:
        test: its file, from the repository's root.
        changed: files, from there.
    """
    folder = str(PurePosixPath(test).parent)
    return any(
        file == test
        or (str(PurePosixPath(file).parent) == folder and not PurePosixPath(file).name.startswith("test_"))
        or any(file == source or file.startswith(f"{source}/") for source in sources(test))
        for file in changed
    )


def changed_since(commit: str, root: Path = ROOT) -> set[str] | None:
    """The files that differ from a commit, those without a commit too; None: git does not know it."""
    try:
        found = [
            subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
            for words in (
                ("diff", "--name-only", "--no-renames", commit, "--"),
                ("ls-files", "--others", "--exclude-standard"),
            )
        ]
    except (OSError, subprocess.SubprocessError):
        return None
    return {line for output in found for line in output.splitlines()}


class SlowTests:
    """Measures tests, and leaves out slow ones.

    Args:
        config: pytest's, with this plugin's options.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.record: str | None = config.getoption("--record-slow")
        whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        inherited: Any = getattr(config, "workerinput", {}).get("leave_out_slow")
        self.leave_out = bool(inherited) if inherited is not None else whole and not config.getoption("--slow")
        self.seconds: dict[str, float] = {}
        self._failed = False

    def pytest_configure_node(self, node: Any) -> None:
        """Workers know no test paths: they do as the run that starts them."""
        node.workerinput["leave_out_slow"] = self.leave_out

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not self.leave_out or not LIST.is_file():
            return
        recorded = json.loads(LIST.read_text())
        changed = changed_since(recorded["commit"])
        if changed is None:  # a clone without history: all are run
            return
        left_out = [
            item
            for item in items
            if item.nodeid in recorded["seconds"] and not runs(item.nodeid.partition("::")[0], changed)
        ]
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        item.stash[_BEGAN] = _cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report: pytest.TestReport = yield
        if call.when == "teardown":
            report.user_properties.append((KEY, round(_cpu_seconds() - item.stash[_BEGAN], 1)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed
        if report.when == "teardown":
            self.seconds[report.nodeid] = sum(
                float(str(value)) for name, value in report.user_properties if name == KEY
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.record is not None and self._failed:
            terminalreporter.write_line(f"{self.record} is not written: what it lists must have passed")
        if self.leave_out and LIST.is_file():
            terminalreporter.write_line("slow tests whose sources have not changed are left out; --slow runs them, too")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.record is None or self._failed or hasattr(session.config, "workerinput"):
            return
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        slow = {test: seconds for test, seconds in sorted(self.seconds.items()) if seconds >= SLOW}
        found = {
            "commit": commit.stdout.strip(),
            "date": datetime.date.today().isoformat(),
            "tests": len(self.seconds),
            "cpu_seconds": round(sum(self.seconds.values())),
            "seconds": slow,
        }
        file = Path(self.record)
        scratch = file.with_suffix(".new")
        scratch.write_text(json.dumps(found, indent=1) + "\n")
        scratch.replace(file)


_BEGAN = pytest.StashKey[float]()


def _cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slow tests")
    group.addoption("--slow", action="store_true", help="run all tests, slow ones too")
    group.addoption("--record-slow", metavar="FILE", help="write which tests are slow, if none fails")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SlowTests(config), "slow-tests-of-the-repository")
