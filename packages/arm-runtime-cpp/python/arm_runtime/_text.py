"""Texts of the library."""

from __future__ import annotations


def text(data: bytes) -> str:
    """As a string; bytes that are no UTF-8, which a file's names may have, are escaped."""
    return data.decode(errors="backslashreplace")
