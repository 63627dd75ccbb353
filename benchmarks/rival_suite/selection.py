"""Which of the rival's tests there are, and in what order they run."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import random
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

#: Of the rival's tests, those that run a module on a target; passes and its own tools are not ours.
FOLDERS = ("ops", "models", "misc", "modules", "quantizer")

#: What the names of a target's tests contain, in any case.
TARGETS = {
    "tosa": ("tosa_fp", "tosa_int"),
    "u55": ("u55_int", "u55_a16w8"),
    "u65": ("u65_int", "u65_a16w8"),
    "u85": ("u85_int", "u85_a16w8"),
    "vgf": ("vgf_quant", "vgf_no_quant", "vgf_int", "vgf_fp"),
}


def folder() -> Path:
    """Where the rival's tests lie: they come with the wheel of ``executorch``.

    Raises:
        SystemExit: the installed one has none.
    """
    found = importlib.util.find_spec("executorch")
    tests = Path(*((found and found.submodule_search_locations) or ["."]), "backends", "arm", "test")
    if not (tests / "ops").is_dir():
        raise SystemExit(
            f"no tests of executorch.backends.arm in {tests}. They come with the wheel of executorch, 1.5.1 for one: "
            "install it from PyPI (pip install executorch), not from an editable checkout or a package without tests."
        )
    return tests


def collect(folders: Sequence[str], only: str) -> tuple[list[str], dict[str, str]]:
    """The names of all tests in these folders, and the files that cannot be imported, with the reason.

    Raises:
        SystemExit: pytest collects nothing.
    """
    root = folder()
    files = sorted(str(f) for name in folders for f in (root / name).rglob("test_*.py") if only in f.name)
    kept, told = multiprocessing.get_context("fork").Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_collected, args=(files, root, told))
    process.start()
    told.close()
    names, broken, why = json.loads(kept.recv())
    process.join()
    if why or not names:
        raise SystemExit(f"pytest collects no test of {len(files)} files: {why or 'they have none'}")
    return names, broken


def _collected(files: Sequence[str], root: Path, told: Connection) -> None:
    """In a process of its own, which alone imports all files."""
    import pytest

    names: list[str] = []
    broken: dict[str, str] = {}
    fatal: list[str] = []

    class Collector:
        def pytest_internalerror(self, excrepr: object) -> None:
            fatal.append(str(excrepr).strip().splitlines()[-1])

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed:
                broken[report.nodeid.removeprefix(f"{root}/")] = str(report.longrepr).strip().splitlines()[-1]

        def pytest_itemcollected(self, item: pytest.Item) -> None:
            names.append(item.nodeid)

    silence()
    plugins = ["-p", "benchmarks.rival_suite.recorder", "-p", "benchmarks.rival_suite.plugin"]
    status = pytest.main(["--collect-only", *arguments(root), "-q", *plugins, *files], plugins=[Collector()])
    if not fatal and status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        fatal.append(f"it ends with {status!r}")
    told.send(json.dumps([names, broken, "; ".join(fatal)]))


def arguments(root: Path) -> list[str]:
    """What pytest is told wherever it runs these tests."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # plugins of other packages take seconds to import
    return [f"--rootdir={root}", "--no-header", "--tb=line", "--assert=plain", "-p", "no:cacheprovider"]


def silence() -> None:
    """Sends what this process prints nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def of_targets(names: Iterable[str], targets: Sequence[str]) -> list[str]:
    """The tests of these targets, by their names."""
    words = tuple(word for target in targets for word in TARGETS[target])
    return [name for name in names if any(word in name.partition("::")[2].lower() for word in words)]


def in_order(names: Iterable[str], seed: str, shard: str) -> list[str]:
    """The tests in the random order that the seed gives, which any selection of them keeps; every Nth from the Kth on.

    So many of the first are a fair sample of all.
    """
    number, shards = (int(part) for part in shard.split("/"))
    found = sorted(set(names))
    random.Random(seed).shuffle(found)
    return found[number - 1 :: shards]
