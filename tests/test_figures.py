"""Each figure with a unit in the prose of a page is written by ``benchmarks.page``, or is one of those listed here."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from test_readme import ROOT

sys.path.append(str(ROOT))  # benchmarks is no package that is installed

from benchmarks import page, prose

PAGES = sorted({*ROOT.glob("README.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")})
#: Folders of dated texts, whose figures are those of their day.
DATED = ("adr", "notes")
UNITS = (
    r"(?:(?:CPU )?(?:ms|us|µs|s|seconds?|minutes?|hours?)|cycles|dB|[KMG]i?B|B|bytes|%|times|instructions|fps|points?)"
)
FIGURE = re.compile(rf"(?<![\w.-])\d[\d,]*(?:\.\d+)?[ -]?{UNITS}(?!\w)")

#: What is not measured, by page: limits and steps of the compiler, formats, definitions, facts of others, examples.
NOT_MEASURED = {
    "README.md": "2 GB",
    "docs/benchmarks.md": "240 CPU seconds|6 dB|10 dB|0.5 dB|0.25 %|0.3 s|0.1 s|256 bytes|64 bytes",
    "docs/explanation/ethosu-model.md": "65536 times",
    "docs/explanation/ethosu-schedules.md": "95 %|1 KiB|192 KiB",
    "docs/explanation/fast-flow.md": "2 GiB",
    "docs/explanation/firmware.md": "3 KiB|4 KiB|3 times",
    "docs/explanation/quantization.md": "513 points|64 times",
    "docs/explanation/random-programs.md": "6 dB|20 dB",
    "docs/explanation/vgf-runtime.md": "32 bytes|128 MiB|2 GiB|128 bytes|8 KiB|16 KiB|3 %|2 s",
    "docs/how-to/add-a-board.md": "4 MiB",
    "docs/how-to/choose-an-accelerator.md": "30ms|1%|25dB|10,000 times|16 KiB|200 points|4GB",
    "docs/how-to/debug-accuracy.md": "6 dB|40 dB|20%|20 %",
    "docs/how-to/estimate-vgf.md": "4 MiB",
    "docs/how-to/firmware-in-your-system.md": "1,024 bytes",
    "docs/how-to/i-have-a-tflite.md": "60 dB|15 dB",
    "docs/how-to/i-have-an-onnx.md": "60 dB|15 dB|30 dB",
    "docs/how-to/keep-accuracy.md": "99 %|20 dB|99%|99.9 %|30 dB|0.99 times|1.01 times|100 %|95 %",
    "docs/how-to/language-models.md": "1 %",
    "docs/how-to/make-it-faster.md": "2 %",
    "docs/how-to/memory.md": "0.25 %|8 KiB|1 MiB",
    "docs/how-to/place-memory.md": "16 bytes",
    "docs/how-to/quantize.md": "10 dB|20 dB",
    "docs/how-to/vgf-in-your-renderer.md": "512 bytes",
    "docs/reference/errors-and-settings.md": "30 minutes|10 dB|20 dB",
    "docs/reference/file-formats.md": "32 bytes|16 bytes|128 bytes",
    "docs/reference/vela-limits.md": "8 times",
    "docs/trained-networks.md": "0.8 %|98 %|99 %|99%|20 CPU minutes|2 s|64 ms|32 ms|1.6 s|9 s",
    "docs/tutorial/first-firmware.md": "32 bytes",
}


def figures(text: str) -> set[str]:
    """The figures of a page's prose, without those in code and in what ``benchmarks.page`` writes."""
    for written in (
        r"^```.*?^```",
        r"<!-- ([\w-]+): begin -->.*?<!-- \1: end -->",
        r"<!-- ([\w-]+) -->.*?<!-- /\1 -->",
    ):
        text = re.sub(written, "", text, flags=re.DOTALL | re.MULTILINE)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("    "))
    return set(FIGURE.findall(prose))


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_figures_are_of_measurements(file: Path) -> None:
    if file.parent.name in DATED:
        return
    name = str(file.relative_to(ROOT))
    listed = set(NOT_MEASURED.get(name, "").split("|")) - {""}
    assert figures(file.read_text()) == listed, "give benchmarks/prose.py what is measured, or list here what is not"


def test_figures_outside_of_what_programs_write_are_found() -> None:
    text = "It takes 12.5 ms.\n\n<!-- a -->3 dB<!-- /a --> and 4 dB\n\n"
    text += "```\n5 dB\n```\n\n<!-- b: begin -->\n6 dB\n<!-- b: end -->"
    assert figures(text) == {"12.5 ms", "4 dB"}


def test_each_part_of_a_page_has_its_marks() -> None:
    for path in {*page.PAGES, *prose.SPANS}:
        text = path.read_text()
        for name in [*page.PAGES.get(path, {}), *prose.SPANS.get(path, {})]:
            assert f"<!-- {name}: end -->" in text or f"<!-- /{name} -->" in text, (path, name)
