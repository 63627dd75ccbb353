"""Names in a file as Python names."""

from __future__ import annotations

import keyword
import re


def identifier(name: str) -> str:
    """A name in the file as a Python name."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    return f"_{made}" if made[0].isdigit() or keyword.iskeyword(made) else made
