"""The largest numbers along an axis, as ONNX and LiteRT order them."""

from __future__ import annotations

import torch
from torch import Tensor


def largest(x: Tensor, count: int, axis: int, *, smallest: bool = False) -> tuple[Tensor, Tensor]:
    """The largest (smallest) numbers and their places; of equal numbers, that with the lowest place is first.

    ``torch.topk`` gives equal numbers in any order.
    """
    if count == 1:
        value, place = (torch.amin, torch.argmin) if smallest else (torch.amax, torch.argmax)
        return value(x, axis, keepdim=True), place(x, axis, keepdim=True)
    values, places = torch.sort(x, dim=axis, descending=not smallest, stable=True)
    return values.narrow(axis, 0, count), places.narrow(axis, 0, count)
