"""The axes of positions in a compiled language model's cache, and writing new rows into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

#: The axis of positions in the parts of a cache, by turns: keys [1, heads, context, width], and values [1, heads,
#: width, context]. So the cache is the left operand of both products of attention, which no NPU has to transpose.
AXES = (2, 3)


def resized(cache: Sequence[Any], length: int) -> list[Any]:
    """The parts of a cache for so many positions: cut, or with zeros where nothing was written."""
    parts = []
    for number, part in enumerate(cache):
        axis = AXES[number % 2]
        shape, count = list(part.shape), min(length, part.shape[axis])
        shape[axis] = length
        copy = part.new_zeros(shape)
        copy.narrow(axis, 0, count).copy_(part.narrow(axis, 0, count))
        parts.append(copy)
    return parts


def write_rows(cache: Sequence[Any], rows: Sequence[Any], position: int, count: int) -> None:
    """Writes the first of the rows that a call gave into the parts of a cache, tensors of PyTorch, at a position."""
    for number, (part, new) in enumerate(zip(cache, rows, strict=True)):
        axis = AXES[number % 2]
        part.narrow(axis, position, count).copy_(new.narrow(axis, 0, count))


def read_text(model: Any, cache: Sequence[Any], tokens: torch.Tensor, step: int) -> torch.Tensor:
    """The scores of the token after each one of a text, [1, tokens, vocabulary], read through the cache in steps.

    Args:
        model: as ``CachedModel.forward``.
        cache: it is written to.
        tokens: int [1, tokens].
    """
    scores = []
    for begin in range(0, tokens.shape[1], step):
        ids = tokens[:, begin : begin + step].to(torch.int32)
        count = ids.shape[1]
        padded = torch.nn.functional.pad(ids, (0, step - count))  # padding writes no row
        step_scores, *rows = model(padded, torch.tensor([begin], dtype=torch.int32), cache)
        scores.append(step_scores[:, :count])
        write_rows(cache, rows, begin, count)
    return torch.cat(scores, 1)
