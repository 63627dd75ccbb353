"""Makes the tables and charts of ``docs/benchmarks.md``, ``docs/trained-networks.md`` and the README from measurements.

    python -m benchmarks.page             # writes them; charts need matplotlib (nox -s bench has it)
    python -m benchmarks.page --check     # writes nothing; exit status 1 and a list if any is stale

Charts that are current are left alone, so that matplotlib is needed only where what they show has changed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks import demo, onnx_tables, prose, rewrite_tables
from benchmarks.charts import CHARTS, Chart, draw, is_current
from benchmarks.documents import with_block, with_span, write
from benchmarks.figures import Figures
from benchmarks.kept_tables import BLOCKS as KEPT
from benchmarks.real_tables import BLOCKS as REAL
from benchmarks.results import RESULTS, ROOT, read
from benchmarks.tables import BLOCKS

DOCUMENT = ROOT / "docs" / "benchmarks.md"
TRAINED = ROOT / "docs" / "trained-networks.md"
IMAGES = ROOT / "docs" / "images" / "benchmarks"


#: The blocks of each page.
PAGES: dict[Path, Mapping[str, Callable[[Figures], str]]] = {
    DOCUMENT: BLOCKS,
    TRAINED: {**REAL, **KEPT, "behind": prose.behind_the_rival},
    ROOT / "README.md": {"demo": demo.shown},
    ROOT / "docs" / "explanation" / "firmware.md": {"costs": prose.costs_of_steps},
    ROOT / "docs" / "how-to" / "i-have-an-onnx.md": {"networks": onnx_tables.by_network},
    ROOT / "docs" / "reference" / "vela-limits.md": {"rewrites": rewrite_tables.rewrites},
}


def parts(page: Path, figures: Figures) -> Iterator[tuple[str, Callable[[str], str]]]:
    """What programs write in a page: names, and what puts the text of today into the page."""
    for name, block in PAGES.get(page, {}).items():
        yield name, partial(with_block, name=name, text=block(figures))
    for name, words in prose.SPANS.get(page, {}).items():
        yield name, partial(with_span, name=name, text=words(figures))


def stale(results: Path = RESULTS, images: Path = IMAGES) -> list[str]:
    """What of the pages is not what the measurements say: parts by name, charts by file."""
    figures = Figures(read(results))
    old = []
    for page in (*PAGES, *prose.SPANS):
        text = page.read_text(encoding="utf-8")
        old += [f"{page.name}: {name}" for name, put in parts(page, figures) if put(text) != text]
    return [*dict.fromkeys(old), *(file.name for file, _ in _stale_charts(figures, images))]


def make(results: Path = RESULTS, images: Path = IMAGES) -> None:
    """Writes the parts of the pages, and the charts that are stale."""
    figures = Figures(read(results))
    for page in (*PAGES, *prose.SPANS):
        text = page.read_text(encoding="utf-8")
        for _, put in parts(page, figures):
            text = put(text)
        write(page, text)
    images.mkdir(parents=True, exist_ok=True)
    for file, chart in _stale_charts(figures, images):
        write(file, draw(chart))


def _stale_charts(figures: Figures, images: Path) -> Iterator[tuple[Path, Chart]]:
    for name, chart in CHARTS.items():
        file = images / f"{name}.svg"
        if not file.exists() or not is_current(file.read_text(encoding="utf-8"), chart(figures)):
            yield file, chart(figures)


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
