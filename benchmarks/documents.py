"""Parts of Markdown documents that programs write: blocks of lines, and words inside a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def with_block(document: str, name: str, text: str) -> str:
    """The document with ``text`` as the contents of a block, ``<!-- NAME: begin -->`` to ``<!-- NAME: end -->``.

    Raises:
        ValueError: the document lacks a mark, or has it twice.
    """
    return _between(document, f"<!-- {name}: begin -->", f"<!-- {name}: end -->", f"\n\n{text.strip()}\n\n")


def with_span(document: str, name: str, text: str) -> str:
    """The document with ``text`` as the words between ``<!-- NAME -->`` and ``<!-- /NAME -->``.

    Raises:
        ValueError: the document lacks a mark, or has it twice.
    """
    return _between(document, f"<!-- {name} -->", f"<!-- /{name} -->", text)


def _between(document: str, begin: str, end: str, text: str) -> str:
    if document.count(begin) != 1 or document.count(end) != 1 or document.index(begin) > document.index(end):
        raise ValueError(f"the document needs the marks {begin} and {end}, each once and in this order")
    head, rest = document.split(begin)
    return f"{head}{begin}{text}{end}{rest.split(end)[1]}"


def write(path: Path, contents: str) -> None:
    """Replaces a file; who reads it meanwhile sees the old or the new contents."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(contents, encoding="utf-8")
    fresh.replace(path)


def update_block(path: Path, name: str, text: str) -> None:
    """Replaces the contents of a block of a file.

    Raises:
        ValueError: the file lacks a mark, or has it twice.
    """
    try:
        write(path, with_block(path.read_text(encoding="utf-8"), name, text))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown, whose first ``left`` columns are text."""
    rows = [heads, [*["---"] * left, *["---:"] * (len(heads) - left)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
