"""Links in the Markdown files lead somewhere, and their Python compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from test_readme import ROOT, blocks

FILES = sorted(
    file
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "packages/*/*.md",
        "tests/plugins/*/*.md",
        "benchmarks/*.md",
        "examples/*.md",
    )
    for file in ROOT.glob(pattern)
)

every_file = pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(ROOT)) for file in FILES])


def _anchors(file: Path) -> set[str]:
    """The anchors that GitHub makes of a file's headings."""
    headings = re.findall(r"^#+ +(.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@every_file
def test_relative_links_lead_somewhere(file: Path) -> None:
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`(?!\])", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), f"{file.relative_to(ROOT)}: {link} leads nowhere"
        assert ROOT in (target, *target.parents), f"{file.relative_to(ROOT)}: {link} leads out of the repository"
        if anchor:
            assert anchor in _anchors(target), f"{file.relative_to(ROOT)}: {link}: no such heading"


@every_file
def test_python_blocks_compile(file: Path) -> None:
    for block in blocks(file):
        if block.language == "python":
            compile("\n" * (block.line - 1) + block.text, str(file), "exec")
