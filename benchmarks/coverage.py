"""Operators beside the rival: which lower whole to TOSA, per profile, with the first case that the kit has of each.

``python benchmarks/coverage.py --records FILE`` runs what the file does not hold yet, ``--only add`` operators of that
name; ``--ours`` runs our side again. ``--update docs/compatibility.md`` puts the table into a document.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

from coverage_side import SPECS, first_cases
from processes import environment

_BEGIN, _END = "<!-- coverage: begin -->", "<!-- coverage: end -->"
Verdicts = dict[tuple[str, str, str], str]
_TAKEN = ("exact", "within", "lowers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, required=True, help="where results are kept")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--ours", action="store_true", help="run our side again")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the table into this document")
    options = parser.parse_args()
    names = [name for name in first_cases() if options.only in name]
    for side in () if options.report else ("ours", "rival"):
        known = _read(options.records)
        again = options.ours and side == "ours"
        missing = [n for n in names if again or any((n, scheme, side) not in known for scheme in SPECS)]
        while missing:
            script = str(Path(__file__).with_name("coverage_side.py"))
            done = subprocess.run([sys.executable, script, side, str(options.records), *missing], env=environment())
            if not done.returncode:
                break
            last = json.loads(options.records.read_text().splitlines()[-1])["operator"]  # it died in the next
            missing = missing[missing.index(last) + 1 :] if last in missing else missing[1:]
    verdicts = _read(options.records)
    print(_table(verdicts))
    if options.update:
        document = options.update.read_text()
        before, rest = document.split(_BEGIN)
        options.update.write_text(f"{before}{_BEGIN}\n\n{_table(verdicts)}\n\n{_END}{rest.split(_END)[1]}")


def _read(path: Path) -> Verdicts:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(r["operator"], r["scheme"], r["side"]): r["verdict"] for r in rows}


def _table(verdicts: Verdicts) -> str:
    lines = ["| operator | profile | rival | ours | why |", "|---|---|---|---|---|"]
    counts: collections.Counter[str] = collections.Counter()
    for name, scheme in sorted({(n, s) for n, s, _ in verdicts}):
        ours, rival = (verdicts.get((name, scheme, side), "not run") for side in ("ours", "rival"))
        we, they = (v.startswith(_TAKEN) for v in (ours, rival))
        counts["ours"] += we
        counts["rival"] += they
        counts["rival only"] += they and not we
        counts["rows"] += 1
        counts["not run"] += rival == "not run"
        if (we and they) or (we and rival == "not run"):
            continue
        why = " ".join((rival if we else ours).split())[:160].replace("|", "\\|")
        lines.append(f"| `{name}` | {scheme} | {'lowers' if they else '-'} | {ours if we else '-'} | {why} |")
    summary = (
        f"{counts['rows']} rows (operator and profile): ours lowers {counts['ours']}, the rival {counts['rival']}; "
        f"{counts['rival only']} only the rival; {counts['not run']} were not run on the rival. The rows in which both "
        "do are not shown."
    )
    return "\n".join([summary, "", *lines])


if __name__ == "__main__":
    main()
