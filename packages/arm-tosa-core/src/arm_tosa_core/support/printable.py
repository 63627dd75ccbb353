"""Texts of others on a terminal."""

from __future__ import annotations

import re

#: Controls of terminals, and characters that change the order or hide the end of the text around them.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """A text for a terminal: control characters, and those that turn the order of others, are escaped."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
