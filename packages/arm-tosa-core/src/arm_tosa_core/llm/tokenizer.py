"""Tokenizers of ``transformers`` and of ``tokenizers``, used alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..support.errors import UsageError


def encoded(tokenizer: Any, text: str) -> list[int]:
    """The token ids of a text.

    Raises:
        UsageError: there is no tokenizer.
    """
    if tokenizer is None:
        raise UsageError("the text is no token ids, and there is no tokenizer: give one (tokenizer=...)")
    made = tokenizer.encode(text)
    return list(getattr(made, "ids", made))


def decoded(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of token ids; bytes that are no whole character yet are left as U+FFFD."""
    return str(tokenizer.decode(list(tokens)))
