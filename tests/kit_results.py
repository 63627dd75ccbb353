"""A pytest plugin: writes what a run of the conformance kit found to a file that is committed (``tests/results``).

``conftest.py`` in the repository's root loads it; ``nox -s operators-ethosu`` and those of other devices use it.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_VERSIONS = ("torch", "executorch", "torchao", "tosa-tools", "ethos-u-vela", "ai-ml-sdk-model-converter")


class KitResults:
    """Counts the rows of a run, and writes the counts as it ends.

    Args:
        file: where to.
        config: has the options of the kit.
    """

    def __init__(self, file: Path, config: pytest.Config) -> None:
        self.file, self.config = file, config
        self.counts: Counter[str] = Counter()
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.counts["refused as listed" if report.skipped else report.outcome] += 1
            if report.failed:
                self.failed.append(report.nodeid.partition("::")[2])

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        option = self.config.getoption
        found = {
            "target": option("--arm-target"),
            "commit": _git("rev-parse", "HEAD"),
            "changed since": bool(_git("status", "--porcelain", "--untracked-files=no")),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "share of the rows": option("--arm-sample"),
            "exit status": int(exitstatus),
            "rows": dict(sorted(self.counts.items())),
            "failed": sorted(self.failed),
            "machine": f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}",
            "versions": {name: metadata.version(name) for name in _VERSIONS},
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        written = self.file.with_suffix(".part")
        written.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        written.replace(self.file)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("arm-tosa")
    group.addoption(
        "--arm-flow", choices=("fast", "ordinary"), default="fast", help="the flow that networks go through"
    )
    group.addoption("--kit-results", metavar="FILE", type=Path, help="write counts of a run of the kit here, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--kit-results")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(KitResults(file, config), "kit-results")
