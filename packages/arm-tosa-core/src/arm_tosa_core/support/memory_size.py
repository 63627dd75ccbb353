"""Sizes of memory as users write them: ``"512K"``, ``"1M"``, ``"384KiB"``, ``65536``."""

from __future__ import annotations

import re

from .errors import UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*([KMG]?)(?:i?B)?", re.IGNORECASE)


def size_of(text: str | int, subject: str) -> int:
    """A size in bytes.

    Args:
        text: a number of bytes, or a string with a unit: K, M and G are 1024, 1024**2 and 1024**3 bytes.
        subject: its name in errors.

    Raises:
        UsageError: it is no size above zero.
    """
    match = _SIZE.fullmatch(str(text).strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if isinstance(text, bool) or size <= 0:
        raise UsageError(f"{subject} must be a size such as 512K, 1M or 65536 (bytes), not {text!r}")
    return size


def kib(size: float) -> str:
    """Bytes as text, in KiB; a few, as bytes."""
    return f"{size / 1024:,.1f} KiB" if size >= 1024 or not size else f"{size:,.0f} B"


def size_text(size: int) -> str:
    """Bytes in the largest unit of which they are a whole number, as ``size_of`` reads them."""
    unit = next(unit for unit in ("G", "M", "K", "") if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"
