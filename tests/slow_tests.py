"""A pytest plugin: a run of all tests leaves out the slow ones whose sources are as they were when those tests passed.

A few hundred of 12,000 tests take most of the time. ``tests/results/slow_tests.json`` lists them, with their CPU time
and the commit on which they passed. ``nox -s nightly`` runs all tests (``--slow``), and writes that file
(``--record-slow``). ``nox -s tests`` and ``.ci/run`` leave out the listed tests; but one of them runs if git says that
its file, a module beside it or a source that it is there for has changed since that commit. A run of files or tests
that are named leaves out nothing, but for sessions of the night that repeat tests in other environments
(``--leave-out-slow``). ``conftest.py`` in the repository's root loads this plugin.

What several tests share counts apart, since it would only move to the next test: a fixture of a wider scope than one
test is slow itself, and so is every test that uses it; and so are all tests of a file whose slow tests take most of
its time, because functions that cache are not seen.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from changes import changed_since

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("results") / "slow_tests.json"
#: CPU seconds of a test or a fixture.
SLOW = 2.0
#: The fixture that compiles C++ apart from what is installed: slow, although it takes no time where that has been done.
_BUILD = "extra_build"
_TEST, _FIXTURE = "cpu_seconds", "cpu_seconds_of_fixture"


def sources(test: str) -> tuple[str, ...]:
    """Files and folders whose change has a slow test run, beside its own file and the modules beside it.

    A test of a package is there for the room of the package that its folder names, or for all of the package. A test in
    ``tests/`` is there for whole flows: it runs in the night where no file of ``tests/`` that it uses changes.

    Args:
        test: its file, from the repository's root.
    """
    parts = PurePosixPath(test).parts
    if parts[0] != "packages":
        return ()
    package = "/".join(parts[:2])
    if parts[1] == "arm-runtime-cpp":
        rooms = {"vgf": ("vgf",), "ethosu_model": ("ethosu",), "bare_metal": ("ethosu",)}.get(
            parts[3], ("ethosu", "vgf")
        )
        source = ("c_interface.hpp", "executorch_log.hpp", "portable", "runner", *rooms)
        shared = ("include", "python", "cmake", "CMakeLists.txt", "CMakePresets.json")
        return (*(f"{package}/src/{part}" for part in source), *(f"{package}/{part}" for part in shared))
    source_folder = f"{package}/src/{parts[1].replace('-', '_')}"
    return (f"{source_folder}/{parts[3]}",) if len(parts) > 4 and parts[2] == "tests" else (source_folder,)


def runs(test: str, changed: set[str], root: Path = ROOT) -> bool:
    """Whether changed files make a slow test run: its own, one beside it that it uses, or a source.

    Args:
        test: its file, from the repository's root.
        changed: files, from there.
        root: of the repository.
    """
    if test in changed:
        return True
    places = {*sources(test), *used(test, root)}
    return any(
        place == file or (file.startswith(f"{place}/") and not PurePosixPath(file).name.startswith("test_"))
        for place in places
        for file in changed
    )


def used(test: str, root: Path = ROOT) -> set[str]:
    """The files and folders of tests that a test names or imports, directly or through others; ``conftest.py`` always.

    They lie beside it, or in a folder above it up to ``tests``. A name that occurs counts: a data file is named in a
    string, and a module by an import.

    Args:
        test: its file, from the root.
        root: of the repository.
    """
    folders = [(root / test).parent]
    while "tests" in folders[-1].parent.relative_to(root).parts:
        folders.append(folders[-1].parent)
    beside = [path for folder in folders for path in folder.iterdir()]
    beside = [path for path in beside if not path.name.startswith(("test_", "__")) and path.name != "results"]
    found: set[Path] = set()
    todo = {root / test, *(path for path in beside if path.name == "conftest.py")}
    while todo:
        found |= todo
        texts = [path.read_text() for path in todo if path.suffix == ".py" and path.is_file()]
        words = {word for text in texts for word in re.findall(r"[\w-]+(?:\.\w+)?", text)}
        words |= {word.partition(".")[0] for word in words}
        todo = {path for path in beside if path.name in words or path.name.removesuffix(".py") in words} - found
    return {str(path.relative_to(root)) for path in found} - {test}


def is_slow(test: str, fixtures: list[str], recorded: Mapping[str, Any]) -> bool:
    """Whether a record has a test, its file, or a fixture that it uses. A test that failed is never left out.

    Args:
        test: its node id.
        fixtures: names of those that it uses.
        recorded: what ``record`` made.
    """
    if test in recorded.get("failed", ()):
        return False
    if _BUILD in fixtures or test in recorded["seconds"] or test.partition("::")[0] in recorded["files"]:
        return True
    found = (key.rpartition("::") for key in recorded["fixtures"])
    return any(name in fixtures and test.startswith(where) for where, _, name in found)


def record(seconds: Mapping[str, float], failed: set[str], fixtures: Mapping[str, float]) -> dict[str, Any]:
    """What is slow: tests that passed, files, and fixtures.

    Args:
        seconds: of each test, without fixtures that others use too.
        failed: tests.
        fixtures: seconds of these, by the node id below which they are defined, ``::`` and their name.
    """
    slow = {test: seconds[test] for test in sorted(seconds.keys() - failed) if seconds[test] >= SLOW}
    whole: defaultdict[str, float] = defaultdict(float)
    parts: defaultdict[str, float] = defaultdict(float)
    for test, spent in seconds.items():
        file = test.partition("::")[0]
        whole[file] += spent
        parts[file] += spent if test in slow else 0.0
    bad = {test.partition("::")[0] for test in failed}
    return {
        "tests": len(seconds),
        "cpu_seconds": round(sum(seconds.values()) + sum(fixtures.values())),
        "files": sorted(file for file in whole if parts[file] > whole[file] / 2 and file not in bad),
        "fixtures": {key: spent for key, spent in sorted(fixtures.items()) if spent >= SLOW},
        "failed": sorted(failed),
        "seconds": slow,
    }


class SlowTests:
    """Measures tests, and leaves out slow ones.

    Args:
        config: pytest's, with this plugin's options.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.file: str | None = config.getoption("--record-slow")
        whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        inherited: Any = getattr(config, "workerinput", {}).get("leave_out_slow")
        asked = config.getoption("--leave-out-slow") or (whole and not config.getoption("--slow"))
        self.leave_out = bool(asked if inherited is None else inherited)
        self.seconds: dict[str, float] = {}
        self.fixtures: dict[str, float] = {}
        self.failed: set[str] = set()
        self._began = 0.0
        self._shared: dict[str, float] = {}  # fixtures made for the running test

    @pytest.hookimpl(optionalhook=True)  # of pytest-xdist
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
        left_out = {
            item
            for item in items
            if is_slow(item.nodeid, getattr(item, "fixturenames", []), recorded)
            and not runs(item.nodeid.partition("::")[0], changed)
        }
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._began, self._shared = _cpu_seconds(), {}
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Any:
        began = _cpu_seconds()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared[f"{fixturedef.baseid}::{fixturedef.argname}"] = _cpu_seconds() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Any:
        report: pytest.TestReport = yield
        if call.when == "teardown":
            own = _cpu_seconds() - self._began - sum(self._shared.values())
            report.user_properties.append((_TEST, round(own, 1)))
            report.user_properties += [(_FIXTURE, f"{spent:.1f} {key}") for key, spent in self._shared.items()]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        for name, value in report.user_properties if report.when == "teardown" else ():
            if name == _TEST:
                self.seconds[report.nodeid] = float(str(value))
            elif name == _FIXTURE:
                spent, _, key = str(value).partition(" ")
                self.fixtures[key] = max(float(spent), self.fixtures.get(key, 0.0))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.leave_out and LIST.is_file():
            terminalreporter.write_line("slow tests whose sources have not changed are left out; --slow runs them, too")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.file is None or hasattr(session.config, "workerinput"):
            return
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        found = {"commit": commit.stdout.strip(), "date": datetime.date.today().isoformat()}
        scratch = Path(f"{self.file}.new")
        scratch.write_text(json.dumps(found | record(self.seconds, self.failed, self.fixtures), indent=1) + "\n")
        scratch.replace(self.file)


def _cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slow tests")
    group.addoption("--slow", action="store_true", help="run all tests, slow ones too")
    group.addoption("--leave-out-slow", action="store_true", help="as a run of all tests does, where tests are named")
    group.addoption("--record-slow", metavar="FILE", help="write which tests are slow and passed")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SlowTests(config), "slow-tests-of-the-repository")
