"""``compile --print-stages``: the order of a compile, and the rewrites in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from typer.core import TyperCommand

from ..plugin import entry_points as plugins
from ..rewrites import REWRITES
from ..tosa.rewrite import REWRITING, Rewrite, Stage
from .report import Result, table

_EVERY = "every target"


class WithStages(TyperCommand):
    """A command of which ``--print-stages`` needs no other argument."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--print-stages" in args:
            for parameter in self.params:
                parameter.required = False
        return super().parse_args(ctx, args)


def stages(target: str | None) -> Result:
    """All stages, and the rewrites that run in two of them, with the targets that add them.

    Args:
        target: the one whose rewrites are listed; None: those of all that are installed.
    """
    added: dict[tuple[Stage, str, str], list[str]] = {}

    def note(rewrite: Rewrite, by: str) -> None:
        added.setdefault((rewrite.stage, rewrite.name, rewrite.reason), []).append(by)

    for rewrite in REWRITES:
        note(rewrite, _EVERY)
    for name, known in ({target: plugins.target(target)} if target else plugins.targets()).items():
        for rewrite in known.rewrites:
            note(rewrite, name)
    rewrites = [
        {"stage": stage.name, "name": name, "reason": reason, "added_by": by}
        for (stage, name, reason), by in sorted(added.items(), key=lambda row: (row[0][0], row[0][1]))
    ]

    def show(console: Console) -> None:
        console.print(table("", ("stage", "what it is for"), [(stage.name, stage.purpose) for stage in Stage]))
        for stage in REWRITING:
            rows = [row for row in rewrites if row["stage"] == stage.name]
            cells = [(str(row["name"]), str(row["reason"]), _families(row["added_by"])) for row in rows]
            if not cells:
                console.print(f"no rewrites in {stage.name}")
            else:
                console.print(
                    table(f"rewrites in {stage.name}", ("rewrite", "what it does, or why", "added by"), cells)
                )

    return Result(
        {"stages": [{"name": stage.name, "purpose": stage.purpose} for stage in Stage], "rewrites": rewrites}, show
    )


def _families(names: Sequence[str]) -> str:
    """Targets as text; one word, such as ``ethos-u55-*``, for all that begin alike, if there are several."""
    words: dict[str, None] = {}
    for name in names:
        family = [
            known for known in plugins.target_names() if known.rpartition("-")[0] == name.rpartition("-")[0] != ""
        ]
        whole = len(family) > 1 and set(family) <= set(names)
        words[f"{name.rpartition('-')[0]}-*" if whole else name] = None
    return ", ".join(words)
