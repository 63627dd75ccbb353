"""Commands as words: one word, or two if bit 14 is set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .registers import LONG, NUMBER


def walk(words: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Each command: the index of its word, its number (of two words: with bit 14), and its value.

    The value of a command of one word has 16 bits; that of one of two has 48, the parameter above the second word.

    Raises:
        ValueError: the words end inside a command.
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word & LONG and at + 1 == len(words):
            raise ValueError("has cmd_data that ends inside a command")
        yield at, word & NUMBER, (word >> 16) << 32 | words[at + 1] if word & LONG else word >> 16
        at += length(word)


def length(command: int) -> int:
    """How many words a command has, by its number or first word."""
    return 2 if command & LONG else 1


def command(number: int, value: int) -> list[int]:
    """The words of a command."""
    return [number | (value >> 32) << 16, value & 0xFFFFFFFF] if number & LONG else [number | value << 16]
