"""``--profile``: what an ETDump says of one run, as a table and as a trace for Perfetto or chrome://tracing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console

from ..compat.executorch import events_of
from ..support.errors import ToolError
from .report import table


@dataclass(frozen=True)
class Event:
    """One event: start from the first one's, and duration, in milliseconds; depth counts the events that enclose it."""

    name: str
    start_ms: float
    ms: float
    depth: int


def read_events(etdump: bytes) -> list[Event]:
    """The events of an ETDump by start, those that enclose others first; its ticks are nanoseconds on hosts.

    Raises:
        ToolError: ExecuTorch's flatc cannot read it.
    """
    try:
        runs = events_of(etdump)
    except Exception as error:  # it runs flatc and parses what that writes
        raise ToolError("ExecuTorch's flatc", f"cannot read the ETDump: {error}") from error
    return nested(
        (event.start_time, event.end_time, event.name or event.delegate_debug_id_str or "event")
        for run in runs
        for event in (recorded.profile_event for recorded in run.events)
        if event is not None
    )


def nested(spans: Iterable[tuple[int, int, str]]) -> list[Event]:
    """Events of begin, end (nanoseconds) and name: by start, those that enclose others first."""
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    events: list[Event] = []
    open_until: list[int] = []  # ends of the events that enclose the next one
    for start, end, name in ordered:
        while open_until and start >= open_until[-1]:
            open_until.pop()
        events.append(Event(name, (start - ordered[0][0]) / 1e6, (end - start) / 1e6, len(open_until)))
        open_until.append(end)
    return events


def trace_events(events: Sequence[Event], process: int) -> list[dict[str, Any]]:
    """The events in the Trace Event Format, complete events in one thread, times in microseconds."""
    return [
        {"name": e.name, "ph": "X", "ts": e.start_ms * 1e3, "dur": e.ms * 1e3, "pid": process, "tid": 1} for e in events
    ]


def data_of(events: Sequence[Event]) -> list[dict[str, Any]]:
    """For ``--json``."""
    return [asdict(event) for event in events]


def show_events(console: Console, events: Sequence[Event]) -> None:
    """Prints the events, indented by depth."""
    cells = [["  " * event.depth + event.name, f"{event.ms:.3f}"] for event in events]
    console.print(table("profile", ("event", "ms"), cells))
