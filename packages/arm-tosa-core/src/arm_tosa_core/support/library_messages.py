"""Messages of libraries that no user can do anything about."""

from __future__ import annotations

import logging
import warnings
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


@contextmanager
def without_torch_warnings() -> Iterator[None]:
    """Hides a warning that PyTorch gives its own copies of an exported program; no user can do anything about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)`", FutureWarning)
        yield
