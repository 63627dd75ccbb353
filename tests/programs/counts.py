"""What runs came to: lines of JSON in ``tests/results/programs.jsonl``, one for each run and way, and a table of them.

``python -m programs.counts ROWS...`` adds the rows that ``--out`` wrote to it, and writes the table into the page.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .program import WAYS
from .run import KINDS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "tests" / "results" / "programs.jsonl"
PAGE = ROOT / "docs" / "explanation" / "random-programs.md"
_MARKS = ("<!-- counts -->\n", "<!-- end of counts -->")


def main(files: Sequence[str]) -> None:
    """Adds rows of finished runs; without any, only the page is written."""
    rows = [json.loads(line) for file in files for line in Path(file).read_text().splitlines()]
    with RESULTS.open("a") as out:
        for line in summarized(rows, head()):
            print(json.dumps(line), file=out)
    before, rest = PAGE.read_text().split(_MARKS[0])
    PAGE.write_text(before + _MARKS[0] + table(RESULTS) + _MARKS[1] + rest.split(_MARKS[1])[1])


def summarized(rows: Iterable[Mapping[str, Any]], commit: str) -> list[dict[str, Any]]:
    """A line for each seed and way: which numbers, how many of each kind, why some were refused or on the CPU."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        seed = row["seed"].partition("/")[0]
        groups.setdefault((seed, row["flow"], row["target"], row["scheme"]), []).append(row)
    lines = []
    for (seed, flow, target, scheme), found in groups.items():
        numbers = [int(row["seed"].partition("/")[2]) for row in found]
        told = [row["reason"] for row in found if row["kind"] not in ("right", "fault")]
        faults = [row for row in found if row["kind"] == "fault"]
        line = {"commit": commit, "seed": seed, "first": min(numbers), "last": max(numbers)}
        line |= {"flow": flow, "target": target, "scheme": scheme, **Counter(row["kind"] for row in found)}
        line["delegated"] = sum(row["delegated"] for row in found)
        line["reasons"] = dict(Counter(map(_short, told)).most_common())
        line["on the CPU"] = dict(Counter(_short(why) for row in found for why in row["left"]).most_common())
        line["faults"] = [f"{row['seed']}: {row['stage']}: {_short(row['reason'])}" for row in faults]
        lines.append(line)
    return lines


def table(file: Path) -> str:
    """How many programs of each way ended how, as a table in Markdown."""
    counts: dict[str, Counter[str]] = {str(way): Counter() for way in WAYS}
    for line in file.read_text().splitlines() if file.exists() else ():
        row = json.loads(line)
        counts[f"{row['flow']} {row['target']} {row['scheme']}"] += Counter({kind: row.get(kind, 0) for kind in KINDS})
    counts["all"] = sum(counts.values(), Counter())
    rule = f"|---|{'---|' * len(KINDS)}"
    head = f"| flow, target, scheme | {' | '.join(KINDS)} |\n{rule}\n"
    return head + "".join(
        f"| {way} | {' | '.join(str(found[kind]) for kind in KINDS)} |\n" for way, found in counts.items()
    )


def _short(reason: str) -> str:
    """A reason without numbers of this program, so that equal ones can be counted."""
    return re.sub(r"\d+", "N", reason)[:160]


def head() -> str:
    """The commit that is checked out, in short."""
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1:])
