"""Makes the tables and charts of ``docs/benchmarks.md`` and ``docs/trained-networks.md`` from measurements.

    python -m benchmarks.page             # writes them; charts need matplotlib (nox -s bench has it)
    python -m benchmarks.page --check     # writes nothing; exit status 1 and a list if any is stale

Charts that are current are left alone, so that matplotlib is needed only where what they show has changed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.charts import CHARTS, draw, is_current
from benchmarks.documents import update_block, with_block, write
from benchmarks.figures import Figures
from benchmarks.real_tables import BLOCKS as REAL
from benchmarks.results import RESULTS, ROOT, read
from benchmarks.tables import BLOCKS

DOCUMENT = ROOT / "docs" / "benchmarks.md"
TRAINED = ROOT / "docs" / "trained-networks.md"
IMAGES = ROOT / "docs" / "images" / "benchmarks"


def stale(results: Path = RESULTS, document: Path = DOCUMENT, images: Path = IMAGES) -> list[str]:
    """What of the page is not what the measurements say: blocks by name, charts by file."""
    figures, text = Figures(read(results)), document.read_text(encoding="utf-8")
    old = [
        f"{document.name}: {name}" for name, block in BLOCKS.items() if with_block(text, name, block(figures)) != text
    ]
    trained = TRAINED.read_text(encoding="utf-8")
    old += [
        f"{TRAINED.name}: {name}"
        for name, block in REAL.items()
        if with_block(trained, name, block(figures)) != trained
    ]
    for name, chart in CHARTS.items():
        file = images / f"{name}.svg"
        if not file.exists() or not is_current(file.read_text(encoding="utf-8"), chart(figures)):
            old.append(file.name)
    return old


def make(results: Path = RESULTS, document: Path = DOCUMENT, images: Path = IMAGES) -> None:
    """Writes the blocks of the document, and the charts that are stale."""
    figures, text = Figures(read(results)), document.read_text(encoding="utf-8")
    for name, block in BLOCKS.items():
        text = with_block(text, name, block(figures))
    write(document, text)
    for name, block in REAL.items():
        update_block(TRAINED, name, block(figures))
    images.mkdir(parents=True, exist_ok=True)
    for name, chart in CHARTS.items():
        file = images / f"{name}.svg"
        if not file.exists() or not is_current(file.read_text(encoding="utf-8"), chart(figures)):
            write(file, draw(chart(figures)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say what is stale, and write nothing")
    if not parser.parse_args().check:
        make()
        return 0
    old = stale()
    for name in old:
        print(f"{name} is stale: run python -m benchmarks.page", file=sys.stderr)
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
