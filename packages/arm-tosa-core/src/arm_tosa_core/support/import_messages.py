"""Importing libraries without their log messages."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_import_messages() -> Iterator[None]:
    """Hides log messages below errors while libraries are imported: users cannot do anything about them.

    torchao warns of every CUDA library that it cannot load, and PyTorch of how torchao registers its types.
    """
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)
