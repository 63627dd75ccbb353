"""What ``nox -s nightly`` still has to run: the record of what passed, and the order that follows from it.

Apart from the session itself, so that tests import it without nox.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

RECORD = Path(__file__).with_name("results") / "nightly.json"


class Pass(TypedDict):
    """The last time that a session passed: the commit, the day, and how long it took."""

    commit: str
    date: str
    seconds: int


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


def due(sessions: Sequence[str], record: Record, commit: str, history: Mapping[str, int]) -> list[str]:
    """The sessions that have not passed on a commit: first those that never passed, then those of the oldest pass.

    Args:
        sessions: all; those of one age keep this order.
        record: when they passed.
        commit: what is to be tested.
        history: commits before it, each with its place; a pass on another commit counts as the oldest.
    """
    waiting = [name for name in sessions if name not in record or record[name]["commit"] != commit]
    return sorted(waiting, key=lambda name: history.get(record[name]["commit"], -1) if name in record else -2)


def chosen(sessions: Sequence[str], words: Sequence[str]) -> list[str]:
    """The sessions that words name, in the order of the words.

    Raises:
        ValueError: a word names none.
    """
    if unknown := [word for word in words if word not in sessions]:
        raise ValueError(f"no session of the night: {', '.join(unknown)}; there are {', '.join(sessions)}")
    return list(words)
