"""What ``nox -s nightly`` still has to run: the record of what passed, and the order that follows from it.

``python tests/night.py NAME...`` prints, of sessions that ``.ci/run`` runs too, those that it has to: what they are
there for (``SOURCES``) has changed since they passed in a night."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from changes import RUNTIME, changed_since

RECORD = Path(__file__).with_name("results") / "nightly.json"
#: What a night writes is no reason for another.
_RESULTS = "tests/results/"


class Pass(TypedDict):
    """The last time that a session passed: the commit, the day, and how long it took."""

    commit: str
    date: str
    seconds: int


_CORE = "packages/arm-tosa-core/src/arm_tosa_core"
_PACKAGES = tuple(f"packages/{name}" for name in ("arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf"))
_ENGINE = tuple(f"{RUNTIME}/{name}" for name in ("src", "include", "python", "cmake", "CMakeLists.txt"))
_PACKAGING = (
    *(f"{package}/pyproject.toml" for package in (*_PACKAGES, RUNTIME)),
    *("packages/arm-tosa-core/hatch_build.py", "constraints.txt", "release"),
    *(f"nox_sessions/{name}.py" for name in ("environments", "releases")),
)


def _packages(*names: str, tests: bool = False) -> tuple[str, ...]:
    """What users install of packages, with the versions of what they need; with their tests."""
    parts = ("src", "pyproject.toml", *(("tests",) if tests else ()))
    return ("constraints.txt", *(f"packages/{name}/{part}" for name in names for part in parts))


#: Sessions in parts, each with a pass of its own: a night that ends early keeps them.
PARTS = 5
PROGRAMS = tuple(f"night-programs(part={part})" for part in range(PARTS))
OPERATORS_ETHOSU = tuple(f"operators-ethosu(target='ethos-{chip}')" for chip in ("u55-128", "u65-256", "u85-256"))

_COMPILER = _packages("arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf")
#: What a session is there for, files and folders, where that is less than everything. ``docs``, ``lint``, ``types`` and
#: ``platforms`` have no row. Nor is a change of a page or a benchmark a reason to repeat an hour of tests in the night:
#: the tests of pages are in ``.ci/run``, with all others that are quick.
SOURCES: dict[str, tuple[str, ...]] = {
    # The compiler's files that a wheel must have are in tests/test_packaging.py.
    "wheels": (*_PACKAGING, "tests/smoke.py", *_ENGINE, f"{RUNTIME}/README.md"),
    "pythons": (*_PACKAGING, "tests/without_pytorch.py"),
    "plugin": (
        *("packages/arm-tosa-core/pyproject.toml", "constraints.txt", "tests/plugins", f"{_CORE}/extend.py"),
        *(f"{_CORE}/{room}" for room in ("plugin", "exir", "testing")),
        *(f"nox_sessions/{name}.py" for name in ("environments", "tests")),
    ),
    "tests": (
        *("packages", "examples", "conftest.py", "constraints.txt", "pyproject.toml", "tests"),
        *("nox_sessions/environments.py", "nox_sessions/tests.py"),
    ),
    "tests-core": _packages("arm-tosa-core", tests=True),
    "tests-cortex-m": (*_packages("arm-tosa-core"), *_packages("arm-cortex-m", tests=True)),
    "tests-ethosu": (*_packages("arm-tosa-core", "arm-cortex-m"), *_packages("arm-ethosu", tests=True)),
    "tests-vgf": (*_packages("arm-tosa-core"), *_packages("arm-vgf", tests=True)),
    "tests-runtime": (*_COMPILER, RUNTIME),
    **dict.fromkeys(
        ("versions(which='oldest')", "versions(which='newest')"),
        _packages("arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf", tests=True),
    ),
    **dict.fromkeys(OPERATORS_ETHOSU, (*_packages("arm-tosa-core", "arm-ethosu"), f"{RUNTIME}/src/ethosu")),
    "operators-cortex-m": _packages("arm-tosa-core", "arm-cortex-m"),
    "operators-vgf": (*_packages("arm-tosa-core", "arm-vgf"), f"{RUNTIME}/src/vgf"),
    "firmware": (*_COMPILER, *_ENGINE, *(f"tests/{name}.py" for name in ("all_networks_in_qemu", "firmware_networks"))),
    "sanitize": (RUNTIME,),
    "fuzz": (*_packages("arm-tosa-core", "arm-ethosu"), f"{RUNTIME}/src/ethosu", f"{RUNTIME}/tests/ethosu_model"),
    **dict.fromkeys(PROGRAMS, (*_COMPILER, *_ENGINE, "tests/programs")),
    "nnsmith": (*_COMPILER, *_ENGINE, "tests/programs"),
    "hostile": (*_COMPILER, *_ENGINE, "tests/hostile"),
    # Its tests go through ExecuTorch's flow to devices, with classes that have the rival's names.
    "rival-sample": (
        *("benchmarks/rival_suite", "constraints.txt", "nox_sessions/tests.py"),
        *(f"{_CORE}/{room}" for room in ("aten", "compat", "exir", "flow", "lowering", "quantize", "rules")),
    ),
    "rival-suite": (*_packages("arm-tosa-core", "arm-ethosu", "arm-vgf"), *_ENGINE, "benchmarks/rival_suite"),
}

#: Session to its last pass; a session that never passed has no row.
Record = dict[str, Pass]


def read(file: Path = RECORD) -> Record:
    """The record in a file; none where there is no file."""
    found: Record = json.loads(file.read_text()) if file.is_file() else {}
    return found


def write(record: Record, sessions: Iterable[str], file: Path = RECORD) -> None:
    """Writes the rows of these sessions, in their order."""
    scratch = file.with_suffix(".new")
    scratch.write_text(json.dumps({name: record[name] for name in sessions if name in record}, indent=1) + "\n")
    scratch.replace(file)


def all_passed(report: Path) -> bool:
    """Whether the sessions of a report of nox passed: for nox, one that was skipped is no failure."""
    ended = [session["result"] for session in json.loads(report.read_text())["sessions"]]
    return bool(ended) and set(ended) == {"success"}


def due(
    sessions: Sequence[str],
    record: Record,
    history: Mapping[str, int],
    changed_since: Callable[[str], set[str] | None] = changed_since,
) -> list[str]:
    """The sessions to run: first those that never passed, then those of the oldest pass.

    Args:
        sessions: all; those of one age keep this order.
        record: when they passed.
        history: commits, each with its place; a pass on another commit counts as the oldest.
        changed_since: the files that differ from a commit; None where git does not know it.
    """
    waiting = [name for name in sessions if not left_out(name, record, changed_since)]
    return sorted(waiting, key=lambda name: history.get(record[name]["commit"], -1) if name in record else -2)


def chosen(sessions: Sequence[str], words: Sequence[str]) -> list[str]:
    """The sessions that words name, in the order of the words.

    Raises:
        ValueError: a word names none.
    """
    if unknown := [word for word in words if word not in sessions]:
        raise ValueError(f"no session of the night: {', '.join(unknown)}; there are {', '.join(sessions)}")
    return list(words)


def left_out(session: str, record: Record, changed_since: Callable[[str], set[str] | None] = changed_since) -> bool:
    """Whether nothing that a session is there for has changed since its last pass.

    Args:
        session: its name.
        record: the passes.
        changed_since: the files that differ from a commit; None where git does not know it.
    """
    changed = changed_since(record[session]["commit"]) if session in record else None
    if changed is None:
        return False
    changed = {file for file in changed if not file.startswith(_RESULTS)}
    if session not in SOURCES:
        return not changed
    return not any(file == source or file.startswith(f"{source}/") for source in SOURCES[session] for file in changed)


if __name__ == "__main__":
    passes = read()
    out = [name for name in sys.argv[1:] if left_out(name, passes)]
    if out:
        print(f"unchanged since they passed in a night, and left out: {', '.join(out)}", file=sys.stderr)
    print(*(name for name in sys.argv[1:] if name not in out))
