"""Python's search for cyclic garbage, which is in the way of work that makes millions of objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Pauses the search, which walks all that PyTorch has loaded: a third of the time of lowering."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def collect_seldom() -> None:
    """Has the search begin when there are many new objects, for a process that imports PyTorch: a quarter of that time.

    What it would find while modules are imported is little: nearly all that they make stays.
    """
    gc.set_threshold(50_000, 20, 100)


def end_without_collection() -> None:
    """Has Python end the process without the search, which would walk all that PyTorch has loaded: a second or two."""
    gc.disable()
    gc.freeze()
