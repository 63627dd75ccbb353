"""``python -m programs``: draws, runs and judges random programs; shrinks and prints those with a fault."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from . import run
from .program import RUNTIME, WAYS, Program, Saved, Way
from .shrink import shrunk


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 1 if there was a fault."""
    given = _arguments(words)
    ways = [
        way for way in WAYS if way.flow in given.flows and way.target in given.targets and way.scheme in given.schemes
    ]
    if not ways:
        sys.exit("no way has that flow, target and scheme")
    _load()
    numbers = range(given.first, given.first + given.count)
    names = [f"{given.seed}/{number}" for number in numbers]
    if given.models:
        names = sorted(map(str, given.models.glob("*.pt2")))[: given.count]
    jobs = [(name, ways[number % len(ways)]) for number, name in enumerate(names, given.first)]
    counts: Counter[str] = Counter()
    out = given.out.open("a") if given.out else None
    with multiprocessing.get_context("fork").Pool(given.jobs, run.warm_up) as pool:
        for row in pool.imap_unordered(partial(_row, trials=given.trials), jobs):
            counts[row["kind"]] += 1
            if out:
                print(json.dumps(row), file=out, flush=True)
            if row["kind"] == run.FAULT:
                _show(row, given.faults)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing ran")
    return int(counts[run.FAULT] > 0 or sum(counts.values()) < len(jobs))


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m programs", description=__doc__)
    parser.add_argument("--count", type=int, default=150, help="programs (default 150)")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", default="0", help="the same seed gives the same programs")
    parser.add_argument("--flows", nargs="+", default=["lower", "edge"], help="lower, edge (ExecuTorch's own)")
    parser.add_argument("--targets", nargs="+", default=[*RUNTIME, "tosa", "acme"], metavar="TARGET")
    parser.add_argument("--schemes", nargs="+", default=["float", "int8", "int16x8"], metavar="SCHEME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time (default: all cores)")
    parser.add_argument("--models", type=Path, help="folder of .pt2 files to run in place of programs drawn here")
    parser.add_argument("--out", type=Path, help="JSON Lines, to which a row for each program is appended")
    parser.add_argument("--faults", type=Path, help="folder for programs with faults, each as a file")
    parser.add_argument("--trials", type=int, default=50, help="runs to make a fault smaller (default 50)")
    return parser.parse_args(words)


def _load() -> None:
    """Imports once what each program's process, a fork of this one, needs; none of it starts a thread."""
    torch.set_num_threads(1)

    import acme_npu  # noqa: F401
    import arm_runtime  # noqa: F401
    import arm_vgf  # noqa: F401


def _row(job: tuple[str, Way], trials: int) -> dict[str, Any]:
    seed, way = job

    def cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    started = cpu()
    outcome = run.again(Saved.of(seed), way) if seed.endswith(".pt2") else run.drawn(seed, way)
    row = {
        "seed": seed,
        "flow": way.flow,
        "target": way.target,
        "scheme": way.scheme,
        "kind": outcome.kind,
        "stage": outcome.stage,
        "reason": outcome.reason,
        "delegated": outcome.delegated,
        "left": sorted({f"{op}: {why}" for op, why in outcome.left}),
        "seconds": round(cpu() - started, 1),
    }
    if outcome.kind == run.FAULT and outcome.program is not None:

        def fails(program: Program) -> bool:
            other = run.again(program, way)
            return other.kind == run.FAULT and other.symptom == outcome.symptom

        smallest = shrunk(outcome.program, fails, trials)
        row |= {"place": outcome.place, "program": smallest.alone(way), "became": run.again(smallest, way).reason}
    return row


def _show(row: dict[str, Any], folder: Path | None) -> None:
    title = f"{row['flow']} {row['target']} {row['scheme']}, seed {row['seed']}: {row['stage']}: {row['reason']}"
    text = f"# {title}\n# {row.get('place', '')} {row.get('became', '')}\n{row.get('program', '')}"
    print(f"FAULT {text}\n", flush=True)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        name = "".join(
            c if c.isalnum() else "-" for c in f"{row['seed']}-{row['target']}-{row['scheme']}-{row['flow']}"
        )
        (folder / f"{name}.py").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
