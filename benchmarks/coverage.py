"""Operators beside the rival: which lower whole to TOSA, per profile, with the first case that the kit has of each.

python -m benchmarks.coverage                                  # what the results do not hold yet
python -m benchmarks.coverage --only add --ours                # operators of that name, our side again
python -m benchmarks.coverage --report --update docs/reference/compatibility.md
"""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
from pathlib import Path

from benchmarks.coverage_side import SPECS, first_cases
from benchmarks.documents import update_block
from benchmarks.processes import environment
from benchmarks.results import ROOT, add_results_option, read

Verdicts = dict[tuple[str, str, str], str]  # of operator, scheme and side
_TAKEN = ("exact", "within", "lowers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_results_option(parser, "coverage")
    parser.add_argument("--only", default="", help="operators whose name contains this")
    parser.add_argument("--ours", action="store_true", help="run our side again")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the table into this document")
    options = parser.parse_args()
    names = [name for name in first_cases() if options.only in name]
    for side in () if options.report else ("ours", "rival"):
        known = _verdicts(options.results)
        again = options.ours and side == "ours"
        missing = [n for n in names if again or any((n, scheme, side) not in known for scheme in SPECS)]
        while missing:
            command = [sys.executable, "-m", "benchmarks.coverage_side", side, str(options.results.resolve()), *missing]
            if not subprocess.run(command, env=environment(), cwd=ROOT, check=False).returncode:
                break
            last = read(options.results)[-1].case["operator"]  # it died in the next
            missing = missing[missing.index(last) + 1 :] if last in missing else missing[1:]
    table = _table(_verdicts(options.results))
    print(table)
    if options.update:
        update_block(options.update, "coverage", table)


def _verdicts(path: Path) -> Verdicts:
    made = read(path) if path.exists() else []
    return {(m.case["operator"], m.case["scheme"], m.side): m.metrics["verdict"] for m in made}


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
