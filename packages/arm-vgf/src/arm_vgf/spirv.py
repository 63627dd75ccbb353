"""SPIR-V as words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MAGIC = 0x07230203
HEADER_WORDS = 5


def instructions(words: Sequence[int]) -> Iterator[tuple[int, int, list[int]]]:
    """Each instruction of a module: the place of its first word, its number, and its operands.

    Raises:
        IndexError: the words end inside one.
    """
    at = HEADER_WORDS
    while at < len(words):
        length, number = words[at] >> 16, words[at] & 0xFFFF
        if not length or at + length > len(words):
            raise IndexError(f"an instruction at word {at} has {length} words")
        yield at, number, list(words[at + 1 : at + length])
        at += length
