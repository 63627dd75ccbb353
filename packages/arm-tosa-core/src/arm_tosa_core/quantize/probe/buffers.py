"""The numbers of a module's buffers before calls that write to them, such as caches of keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

#: Buffers, each with a copy of its numbers.
Saved = list[tuple[torch.Tensor, torch.Tensor]]


def saved(module: torch.nn.Module) -> Saved:
    """The buffers that calls may write to; PyTorch writes to none whose elements share memory (``expand``)."""
    return [(buffer, buffer.clone()) for buffer in module.buffers() if not _shares_memory(buffer)]


def restore(state: Saved) -> None:
    """Gives buffers their numbers again."""
    with torch.no_grad():
        for buffer, before in state:
            buffer.copy_(before)


@contextmanager
def unwritten(*modules: torch.nn.Module) -> Iterator[None]:
    """Gives the buffers of modules their numbers again behind what is called within.

    ``ExportedProgram.module()`` writes to the buffers of its program.
    """
    state = [row for module in modules for row in saved(module)]
    try:
        yield
    finally:
        restore(state)


def _shares_memory(tensor: torch.Tensor) -> bool:
    return any(size > 1 and not stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
