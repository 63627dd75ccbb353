"""The pytest plugin of the kit: ``--arm-target`` and its options."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

#: Rows that the target's own checks refuse: name to a part of the reason.
REFUSALS = pytest.StashKey[Mapping[str, str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("arm-tosa", "Arm TOSA conformance kit")
    group.addoption("--arm-target", default="tosa", help="target for the operator cases; see: arm-tosa targets")
    group.addoption(
        "--arm-cases", metavar="FILE", type=Path, help="run the rows of CASES in this Python file, and no others"
    )
    group.addoption(
        "--arm-refusals",
        metavar="FILE",
        type=Path,
        help="operator cases that the target's own checks refuse: lines 'ROW | PART OF THE REASON'; others must pass",
    )
    group.addoption(
        "--arm-sample", metavar="SHARE", type=_share, default=1.0, help="run this share of the operator cases, 0 to 1"
    )
    group.addoption("--arm-seed", metavar="TEXT", help="which cases --arm-sample takes; default: the date (UTC)")
    group.addoption("--arm-validate", action="store_true", help="have tosa-opt judge each graph (slower)")
    group.addoption("--arm-verify-rewrites", action="store_true", help="verify graphs after each rewrite (slower)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "arm_operator: an operator case of the conformance kit, in one scheme")
    file = config.getoption("--arm-refusals")
    config.stash[REFUSALS] = read_refusals(file) if file else {}
    if config.option.arm_seed is None:
        # In the options, which pytest-xdist hands to its workers: all must take the same cases.
        config.option.arm_seed = datetime.datetime.now(datetime.UTC).date().isoformat()


def pytest_report_header(config: pytest.Config) -> str | None:
    share, seed = config.getoption("--arm-sample"), config.getoption("--arm-seed")
    if share == 1:
        return None
    return f"operator cases: a sample, to be had again with --arm-sample={share:g} --arm-seed={seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    share, seed = config.getoption("--arm-sample"), config.getoption("--arm-seed")
    rows = [item for item in items if item.get_closest_marker("arm_operator")]
    if share == 1 or not rows:
        return
    # By the rows' names: the place of a row does not depend on the other rows.
    rows.sort(key=lambda item: hashlib.sha256(f"{seed} {item.name}".encode()).digest())
    out = set(rows[max(1, round(share * len(rows))) :])
    config.hook.pytest_deselected(items=list(out))
    items[:] = [item for item in items if item not in out]


def read_refusals(file: Path) -> dict[str, str]:
    """The rows that a target's own checks refuse, and a part of the reason, from a file.

    Lines are ``ROW | PART OF THE REASON``, such as ``bitwise_and/int32-int8 | INT32 only``; empty ones and those that
    begin with ``#`` do not count.

    Raises:
        pytest.UsageError: the file cannot be read, or a line has another form, or a row is there twice.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"--arm-refusals: {file} cannot be read: {error}") from error
    refusals: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        row, separator, reason = (part.strip() for part in line.partition(" | "))
        if not (row and separator and reason):
            raise pytest.UsageError(f"{file}:{number}: expected 'ROW | PART OF THE REASON', got {line!r}")
        if row in refusals:
            raise pytest.UsageError(f"{file}:{number}: {row} is there twice; delete one line")
        refusals[row] = reason
    return refusals


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise ValueError(f"{text} is not a share: more than 0, 1 at most")
    return share
