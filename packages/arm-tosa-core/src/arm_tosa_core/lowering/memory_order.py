"""The order in which a tensor lies in memory."""

from __future__ import annotations

import torch

from ..compat.torch_sizes import example_size
from .values import Axes, inverse


def memory_order(meta: torch.Tensor) -> Axes | None:
    """``Value.perm`` of a tensor at the edge of the graph: channels_last ones lie in memory as NHWC.

    ExecuTorch sorts axes by their strides, those of one element too (``exir.tensor.dim_order_from_stride``); PyTorch's
    ``Tensor.dim_order`` passes over them. The runtime is given sizes in ExecuTorch's order.
    """
    strides, axes = meta.stride(), range(meta.dim())
    order = tuple(sorted(axes, key=lambda axis: -example_size(strides[axis])))
    return None if overlaps(meta) or order == tuple(axes) else inverse(order)


def overlaps(meta: torch.Tensor) -> bool:
    """Whether elements share memory, as in an expanded tensor."""
    return any(isinstance(stride, int) and stride == 0 for stride in meta.stride())
