"""Warnings that PyTorch gives about itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_torch_warnings() -> Iterator[None]:
    """Hides a warning that PyTorch gives its own copies of an exported program; no user can do anything about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)`", FutureWarning)
        yield
