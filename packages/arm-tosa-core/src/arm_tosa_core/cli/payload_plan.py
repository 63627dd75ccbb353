"""``arm-tosa explain`` of a compiled file: what it becomes on this machine, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.target import Step, Target
from ..support.errors import UsageError
from .files import read
from .report import Result, table


def target_of(file: Path) -> Target | None:
    """The target in whose own format a file is, by its suffix; None: a model."""
    if file.suffix in ("", ".pt2", ".tosa") or file.suffix.startswith(".py"):
        return None  # without loading a plugin
    if file.suffix == ".pte":
        raise UsageError(
            f"{file} is a compiled program: explain the model, or write its payloads to files with "
            f"`arm-tosa extract {file} -o FOLDER` and explain those"
        )
    found = [target for target in plugins.targets().values() if target.compiler.suffix == file.suffix]
    return next((target for target in found if target.host.plan), found[0] if found else None)


def explain_payload(file: Path, target: Target, engine: str | None) -> Result:
    """The plan of a file in the target's format.

    Raises:
        UsageError: the target has no plan to show here.
    """
    if target.host.plan is None:
        raise UsageError(
            f"target {target.name!r} has no plan to show on this machine: explain the model instead, with --target. If "
            "files of this target have a plan elsewhere, `arm-tosa doctor` lists what is missing here"
        )
    steps = target.host.plan(read(file), engine)

    def show(console: Console) -> None:
        columns = list(steps[0]) if steps else []
        rows = [[_cell(step[name]) for name in columns] for step in [*steps, _sums(steps)]]
        console.print(table(f"{file}: {len(steps)} steps, and the sums of their numbers", columns, rows))

    return Result({"target": target.name, "plan": [dict(step) for step in steps]}, show)


def _cell(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _sums(steps: Sequence[Step]) -> dict[str, str | int]:
    """Of each column of numbers; texts are empty."""
    sums: dict[str, str | int] = {}
    for step in steps:
        for name, value in step.items():
            before = sums.get(name, 0)
            sums[name] = before + value if isinstance(value, int) and isinstance(before, int) else ""
    return sums
