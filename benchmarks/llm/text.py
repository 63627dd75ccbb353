"""Text that comes with Python: the topics of its reference manual, of which ``help("topics")`` has a list.

Python's documentation has the PSF licence, version 2. Nothing of it is copied here: it is read from the installation.
"""

from __future__ import annotations

from pydoc_data.topics import topics

#: Every tenth topic is held out.
_HELD_OUT = 10


def training_text() -> str:
    """What the model learns from, and what it is calibrated with."""
    return "\n\n".join(text for i, text in enumerate(_texts()) if i % _HELD_OUT)


def held_out_text() -> str:
    """What perplexity is measured on."""
    return "\n\n".join(_texts()[::_HELD_OUT])


def _texts() -> list[str]:
    return [topics[name] for name in sorted(topics)]
