"""``compile --print-stages`` and ``--print-after``: the order of a compile, its rewrites, and its graphs as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.target import Target
from ..rewrites import REWRITES
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError
from ..tosa.graph import Graph
from ..tosa.rewrite import REWRITING, Rewrite, Stage
from ..tosa.rewrite_engine import Application, Observer, Statistics, observed
from ..tosa.text import text
from .report import Result, say, table

_EVERY = "every target"


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


#: The stages after which there is a TOSA graph.
_STAGES = (Stage.LOWER, *REWRITING)


class _Printer(Observer):
    """Collects what is printed; shows it at once on the standard error stream, unless it goes to a file."""

    def __init__(self, stages: set[Stage], rewrites: set[str], *, show: bool) -> None:
        self.stages, self.rewrites, self.show = stages, rewrites, show
        self.printed: list[str] = []

    def applied(self, graph: Graph, application: Application) -> None:
        if application.rewrite.name in self.rewrites:
            self._print(f"after {application}", text(graph))

    def finished(self, graph: Graph, stage: Stage, statistics: Statistics | None) -> None:
        if stage in self.stages:
            counts = "" if statistics is None else f"\n{statistics}"
            self._print(f"after {stage.name}{counts}", text(graph))

    def _print(self, heading: str, graph: str) -> None:
        comment = "".join(f"# {line}\n" for line in heading.splitlines())
        self.printed.append(f"{comment}{graph}\n")
        if self.show:
            say(f"{comment}{graph}")


def printed_after(names: Sequence[str], target: Target, file: Path | None) -> AbstractContextManager[None]:
    """A context in which graphs are printed after the stages and rewrites of these names, which are checked at once.

    After a stage, what its rewrites did is counted above the graph. After a rewrite, the line above the graph says
    where it applied and why; operators that it left without use are still shown.

    Args:
        names: ``LOWER``, ``OPTIMIZE``, ``LEGALIZE``, or rewrites of the core or of the target.
        file: where to; the standard error stream if None. It is written even if compiling fails.

    Raises:
        UsageError: there is no such stage or rewrite (those there are, are listed), or a file without names.
    """
    if file is not None and not names:
        raise UsageError("--print-to needs --print-after STAGE or --print-after REWRITE")
    stages = {stage.name: stage for stage in _STAGES}
    known = sorted({rewrite.name for rewrite in (*REWRITES, *target.rewrites)})
    for name in names:
        if name.upper() not in stages and name not in known:
            raise UsageError(
                f"--print-after {name}: no stage with a TOSA graph and no rewrite for {target.name}; "
                f"stages: {', '.join(stages)}; rewrites: {', '.join(known)}"
            )
    chosen = {stages[name.upper()] for name in names if name.upper() in stages}
    return _printed(_Printer(chosen, set(names), show=file is None), file)


@contextmanager
def _printed(printer: _Printer, file: Path | None) -> Iterator[None]:
    try:
        with observed(printer):
            yield
    finally:
        if file is not None:
            write_atomic(file, "".join(printer.printed).encode())
