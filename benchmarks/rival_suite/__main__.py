"""Runs the tests that ship in the rival's wheel on this project's compiler.

``python -m benchmarks.rival_suite --records r.jsonl`` runs its operator tests for TOSA. ``--folders models misc``
names folders of its tests, ``--targets u55 u85 vgf`` targets: there a module becomes a ``.pte``, which ExecuTorch's
runtime runs with our delegates. Tests run in a random order that ``--seed`` decides, so that those that have run at
any moment are a fair sample of all; ``--sample 300`` are the first 300. ``--shard 1/20`` runs every twentieth,
``--only add`` those of files by name, ``--jobs 2`` so many at once, ``--minutes 10`` begins none later. Results go to
the records file at once; what is in it does not run again, so that the same command goes on after a break; ``--again``
runs it all the same, ``--failed`` what failed, and a later record replaces an earlier. ``--known`` names a file of
tests that fail, each with its cause: the exit status is 1 if another fails, or one of these does not. ``--rival`` runs
those that failed on the rival itself. ``--report`` runs nothing: it prints how many tests passed, failed and were left
out, the failures, and the reasons of what was left out; ``--update FILE`` writes that into a document. ``--pack``
writes the records file anew, in its short form, to be committed.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.rival_suite import forks, report, selection


def main(words: Sequence[str] | None = None) -> int:
    """Exit status 1 if a test failed now that the rival does not expect to fail, or did not that is known to fail."""
    options = _parser().parse_args(words)
    records, runs = report.read(options.records) if options.records else ({}, {})
    known = report.known_failures(options.known) if options.known else set()
    surprises: list[str] = []
    if not (options.report or options.update or options.pack):
        side = "rival" if options.rival else "ours"
        forks.prepare(side)  # first, so that what collects the tests has it too
        todo, broken = _wanted(options, records)
        run = report.begin(options.records, runs) if options.records else 0
        limits = forks.Limits(options.jobs, options.timeout, options.minutes)
        unloaded = [report.Record(file, side, "left out", f"does not load: {why}") for file, why in broken.items()]
        print(f"{len(todo)} tests, seed {options.seed}", flush=True)
        for made in itertools.chain([unloaded], forks.run(todo, side, limits)):
            made = [replace(record, run=run) for record in made]
            surprises += report.surprises(made, known)
            records |= {(record.test, side): record for record in made}
            if options.records:
                report.append(options.records, made)
            print(*{record.file for record in made}, "so far:", report.counted(records), flush=True)
    print(report.text(records))
    if options.pack:
        report.pack(options.records, records, runs)
    if options.update:
        report.update(options.update, records, runs)
    if surprises:
        print("", *surprises, sep="\n")
    return int(bool(surprises))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every Nth test from the Kth on")
    parser.add_argument("--only", default="", help="files whose name contains this")
    parser.add_argument("--folders", nargs="+", default=["ops"], choices=selection.FOLDERS, help="default ops")
    parser.add_argument("--targets", nargs="+", default=["tosa"], choices=selection.TARGETS, help="default tosa")
    parser.add_argument("--sample", type=int, metavar="N", help="only the first N of the order")
    parser.add_argument("--seed", default="0", help="of the order, any word (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default 1)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for a test (default 900)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no test after so many")
    parser.add_argument("--records", type=Path, help="where results are kept (default: nowhere)")
    parser.add_argument("--again", action="store_true", help="also tests that have a record")
    parser.add_argument("--failed", action="store_true", help="only the tests that the records say we failed")
    parser.add_argument("--rival", action="store_true", help="run the tests that we failed on the rival itself")
    parser.add_argument("--report", action="store_true", help="run nothing, print what the records say")
    parser.add_argument(
        "--known", type=Path, metavar="FILE", help="tests that are expected to fail; an error if one passes"
    )
    parser.add_argument("--pack", action="store_true", help="run nothing, write the records file in its short form")
    parser.add_argument("--update", type=Path, metavar="FILE", help="run nothing, write the report into this document")
    return parser


def _wanted(options: argparse.Namespace, records: report.Records) -> tuple[list[str], dict[str, str]]:
    """The tests to run in their order, and the files that cannot be imported, with the reason."""
    names, broken = selection.collect(options.folders, options.only)
    names = selection.in_order(selection.of_targets(names, options.targets), options.seed, options.shard)
    if options.failed or options.rival:
        failed = {test for (test, side), r in records.items() if side == "ours" and r.outcome == "failed"}
        known = {test for (test, side) in records if options.rival and side == "rival"}
        return [name for name in names if name in failed - known], {}
    if options.sample:
        names = names[: options.sample]
    if not options.again:
        names = [name for name in names if (name, "ours") not in records]
        broken = {file: why for file, why in broken.items() if (file, "ours") not in records}
    return names, broken


if __name__ == "__main__":
    raise SystemExit(main())
