"""Progress on the terminal, where there is one: a bar for each thing that is being done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, TaskID


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Gives a function of what is done, steps so far, and steps in all; the bars go to stderr and vanish at the end."""
    tasks: dict[str, TaskID] = {}
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:

        def show(what: str, step: int, steps: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=step, total=steps)

        yield show
