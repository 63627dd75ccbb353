"""Tokenizers of ``transformers`` and of ``tokenizers``, used alike."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..support.errors import UsageError
from ..support.install_advice import from_index


def encoded(tokenizer: Any, text: str) -> list[int]:
    """The token ids of a text.

    Raises:
        UsageError: there is no tokenizer.
    """
    if tokenizer is None:
        raise UsageError("the text is no token ids, and there is no tokenizer: give one (tokenizer=...)")
    encoding = tokenizer.encode(text)
    return list(getattr(encoding, "ids", encoding))


def pieces(texts: Sequence[str | Sequence[int]], tokenizer: Any, length: int) -> list[Sequence[int]]:
    """The token ids of texts, cut into pieces of a length; the last of a text may be shorter.

    Raises:
        UsageError: a text is no token ids, and there is no tokenizer.
    """
    sequences = [encoded(tokenizer, text) if isinstance(text, str) else text for text in texts]
    return [text[i : i + length] for text in sequences for i in range(0, len(text), length)]


def decoded(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of token ids; bytes that are no whole character yet are left as U+FFFD."""
    return str(tokenizer.decode(list(tokens)))


def read_tokenizer(text: bytes, path: Path) -> Any:
    """The tokenizer of a ``tokenizer.json``, as the library ``tokenizers`` writes it.

    Args:
        path: where the text is from, for errors.

    Raises:
        UsageError: it is none, or the library is not installed.
    """
    if find_spec("tokenizers") is None:
        advice = from_index("tokenizers")
        raise UsageError(f"text needs the library tokenizers: {advice} (the extra arm-tosa-core[llm] brings it)")
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_buffer(text)
    except Exception as error:  # the library raises nothing narrower
        raise UsageError(f"{path} is no tokenizer.json: {error}") from error
