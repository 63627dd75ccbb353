"""What the records of the rival's tests say, as text and as a table."""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.documents import update_block

Records = dict[tuple[str, str], "Record"]


@dataclass(frozen=True)
class Record:
    """How a test ended.

    Args:
        test: its pytest id, from the folder of the rival's tests.
        side: on which compiler, ``ours`` or ``rival``.
        outcome: ``passed``, ``failed`` or ``left out``.
        why: the reason, unless it passed.
        expected_to_fail: the rival's tests say that it fails there.
        seconds: how long it took.
    """

    test: str
    side: str
    outcome: str
    why: str = ""
    expected_to_fail: bool = False
    seconds: float = 0.0

    @property
    def file(self) -> str:
        return self.test.split("::")[0].rsplit("/", 1)[-1]


def parse(text: str, side: str) -> list[Record]:
    """Records of the lines that the recorder wrote."""
    return [Record(side=side, **json.loads(line)) for line in text.splitlines()]


def read(path: Path) -> Records:
    """The last record of each test and side; none if there is no file yet."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {(r.test, r.side): r for r in (Record(**json.loads(line)) for line in lines)}


def append(path: Path, records: Iterable[Record]) -> None:
    """Adds records to a file."""
    with path.open("a") as file:
        file.writelines(json.dumps(asdict(record)) + "\n" for record in records)


def counted(records: Records) -> str:
    """One line of counts."""
    ours = collections.Counter(r.outcome for (_, side), r in records.items() if side == "ours")
    line = ", ".join(f"{ours[name]} {name}" for name in ("passed", "failed", "left out"))
    failed = [r for (_, side), r in records.items() if side == "ours" and r.outcome == "failed"]
    asked = [records[r.test, "rival"] for r in failed if (r.test, "rival") in records]
    if not failed or not asked:
        return line
    lost = sum(r.outcome == "passed" for r in asked)
    won = sum(1 for (_, s), r in records.items() if s == "ours" and r.outcome == "passed" and not r.expected_to_fail)
    share = f"{won} of {won + lost} ({won / (won + lost):.2%}) of those that either passes and is not expected to fail"
    unknown = len(failed) - len(asked)
    return f"{line}; {share}" + (f"; {unknown} failures not tried on the rival" if unknown else "")


def text(records: Records) -> str:
    """The failures and what the rival says of each, the reasons of what was left out, the counts."""
    lines = [""]
    for (test, side), record in sorted(records.items()):
        if side == "ours" and record.outcome == "failed":
            rival = records.get((test, "rival"))
            lines.append(f"{test} [rival: {rival.outcome if rival else '?'}] {short(record.why)}")
    left = collections.Counter(short(r.why) for (_, s), r in records.items() if s == "ours" and r.outcome == "left out")
    lines += ["", *(f"{number:6} {why}" for why, number in left.most_common()), counted(records)]
    return "\n".join(lines)


def short(why: str) -> str:
    """A reason on one line."""
    return re.sub(r"\s+", " ", why)[:300]


def update(path: Path, records: Records) -> None:
    """Puts the counts, the failures and a row per file between the marks of a document."""
    update_block(path, "rival-suite", _tables(records))


def _tables(records: Records) -> str:
    ours = {test: r for (test, side), r in records.items() if side == "ours"}
    files: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for record in ours.values():
        files[record.file][record.outcome] += 1
    left = collections.Counter(short(r.why) for r in ours.values() if r.outcome == "left out")
    failed = sorted((r for r in ours.values() if r.outcome == "failed"), key=lambda r: r.test)

    def row(record: Record) -> str:
        rival = records.get((record.test, "rival"))
        why = short(record.why).replace("|", "\\|")
        return f"| `{record.test.removeprefix('ops/')}` | {rival.outcome if rival else 'not run'} | {why} |"

    lines = [f"{counted(records)}. Files that are not in the list below have not been run.", ""]
    lines += ["| fails here | on the rival | why |", "|---|---|---|", *map(row, failed), ""]
    lines += ["| left out | why |", "|---|---|", *(f"| {n} | {why} |" for why, n in left.most_common()), ""]
    lines += ["| file | passed | failed | left out |", "|---|---|---|---|"]
    for name, counts in sorted(files.items()):
        lines.append(f"| `{name}` | {counts['passed']} | {counts['failed']} | {counts['left out']} |")
    return "\n".join(lines)
