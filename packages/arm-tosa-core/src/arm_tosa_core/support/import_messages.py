"""Importing libraries without what they log meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_import_messages() -> Iterator[None]:
    """Keeps what libraries log below errors while they are imported from users, who cannot do anything about it.

    torchao warns of every CUDA library that it cannot load, and PyTorch of how torchao registers its types.
    """
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)
