"""What the records of the rival's tests say, as text and as a table."""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.documents import update_block, write
from benchmarks.results import Run

Records = dict[tuple[str, str], "Record"]
#: Commit, date and machine of the runs, by their numbers.
Runs = dict[int, dict[str, str]]


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
        run: the line of the records that says when, where and with which commit it ran.
    """

    test: str
    side: str
    outcome: str
    why: str = ""
    expected_to_fail: bool = False
    seconds: float = 0.0
    run: int = 0

    @property
    def file(self) -> str:
        return self.test.split("::")[0].rsplit("/", 1)[-1]


def parse(text: str, side: str) -> list[Record]:
    """Records of the lines that the recorder wrote."""
    return [Record(side=side, **json.loads(line)) for line in text.splitlines()]


def read(path: Path) -> tuple[Records, Runs]:
    """The last record of each test and side, and the runs they are of; none if there is no file yet."""
    records: Records = {}
    runs: Runs = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        if "commit" in row:
            runs[row.pop("run")] = row
            continue
        for name in row.pop("tests"):
            record = Record(test=f"{row['of']}{name}", **{key: value for key, value in row.items() if key != "of"})
            records[record.test, record.side] = record
    return records, runs


def begin(path: Path, runs: Runs) -> int:
    """Writes down the run that begins, unless it goes on with one of the same day, commit and machine."""
    here = Run.here("rival-suite")
    row = {"commit": here.commit, "date": here.date[:10], "machine": here.machine}
    number = next((run for run, known in runs.items() if known == row), max(runs, default=0) + 1)
    if number not in runs:
        runs[number] = row
        _append(path, [{"run": number, **row}])
    return number


def append(path: Path, records: Iterable[Record]) -> None:
    """Adds records to a file."""
    _append(path, _rows(records))


def pack(path: Path, records: Records, runs: Runs) -> None:
    """Writes the file anew: what the last runs say of each test, the tests that ended alike on one line."""
    used = {record.run for record in records.values()}
    rows = [{"run": number, **row} for number, row in runs.items() if number in used]
    ordered = [records[key] for key in sorted(records)]
    write(path, "".join(json.dumps(row) + "\n" for row in [*rows, *_rows(ordered)]))


def _append(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("a") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def _rows(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Records of one function that ended alike, as a row; what is usual is left out."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        function = record.test.partition("[")[0]
        key = (function, record.side, record.outcome, record.why, record.expected_to_fail, record.run)
        groups.setdefault(key, []).append(record)
    rows = []
    for (function, *_), group in groups.items():
        row = asdict(replace(group[0], seconds=round(sum(r.seconds for r in group) / len(group), 1)))
        del row["test"]
        usual = {"why": "", "expected_to_fail": False}
        row = {key: value for key, value in row.items() if key not in usual or value != usual[key]}
        rows.append({"of": function, "tests": [r.test.removeprefix(function) for r in group], **row})
    return rows


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


def known_failures(path: Path) -> set[str]:
    """The tests that a file lists, a line for each and its cause behind ``#``."""
    lines = (line.partition(" # ")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line and not line.startswith("#")}


def surprises(records: Iterable[Record], known: set[str]) -> list[str]:
    """What differs from what is known: tests that fail now, and tests of the list that do not."""
    found = []
    for record in records:
        failed = record.outcome == "failed" and not record.expected_to_fail
        if failed and record.test not in known:
            found.append(f"{record.test} fails: {short(record.why)}")
        if not failed and record.test in known:
            found.append(f"{record.test} is listed as a known failure and {record.outcome}: take it off the list")
    return found


def short(why: str) -> str:
    """A reason on one line."""
    return re.sub(r"\s+", " ", why)[:300]


def update(path: Path, records: Records, runs: Runs) -> None:
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
