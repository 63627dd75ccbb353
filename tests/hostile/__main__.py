"""Opens spoiled files of every format: ``python -m hostile --count 5000 --seed 1``; ``nox -s hostile``."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from programs.counts import head

from . import seeds
from .apart import fault
from .mutations import spoiled
from .openings import OPENINGS


def main() -> int:
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first file, to repeat one")
    parser.add_argument("--out", type=Path, help="JSON Lines, to which a line with the counts is appended")
    parser.add_argument("--keep", type=Path, help="folder for the files that found something")
    parser.add_argument("--serve", type=Path, metavar="FOLDER", help="open what tests ask for, there")
    words = parser.parse_args()
    if words.serve is not None:
        return serve(words.serve)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        os.environ["ARM_TOSA_CACHE_DIR"] = str(folder / "cache")
        (folder / "seeds").mkdir()
        seeds.make(folder / "seeds")
        for opening in OPENINGS:  # nothing is found in good files
            good = (folder / "seeds" / opening.seed).read_bytes()
            if found := fault(opening, good, folder / "seeds", folder / "open"):
                print(f"{opening.seed}, {opening.name}, as it was: {found}")
                return 2
        for number in range(words.first, words.first + words.count):
            draw = random.Random(f"{words.seed} {number}")
            (opening,) = draw.choices(OPENINGS, [each.often for each in OPENINGS])
            content = spoiled((folder / "seeds" / opening.seed).read_bytes(), draw)
            found = fault(opening, content, folder / "seeds", folder / "open")
            if number % 100 == 99:
                print(f"{number + 1 - words.first} files", flush=True)
            counts[f"{opening.seed}, {opening.name}: {found.partition(chr(10))[0] or 'right'}"] += 1
            if found:
                print(f"file {number} of seed {words.seed}: {opening.seed}, {opening.name}: {found}", flush=True)
                if words.keep is not None:
                    words.keep.mkdir(parents=True, exist_ok=True)
                    (words.keep / f"{number}-{Path(opening.seed).name}").write_bytes(content)
    for line, count in sorted(counts.items()):
        print(f"{count:6} {line}")
    wrong = sum(count for line, count in counts.items() if not line.endswith(": right"))
    print(f"{words.count} files of seed {words.seed}: {wrong} found something")
    if words.out is not None:
        row = {"commit": head(), "seed": words.seed, "first": words.first, "count": words.count, "found": wrong}
        with words.out.open("a") as out:
            print(json.dumps({**row, "files": dict(sorted(counts.items()))}), file=out)
    return int(wrong > 0)


def serve(folder: Path) -> int:
    """Makes good files in ``seeds``; then opens ``opened`` as each line of the standard input says, by number."""
    os.environ["ARM_TOSA_CACHE_DIR"] = str(folder / "cache")
    (folder / "seeds").mkdir()
    seeds.make(folder / "seeds")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        content = (folder / "opened").read_bytes()
        print(json.dumps(fault(OPENINGS[int(line)], content, folder / "seeds", folder / "open")), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
