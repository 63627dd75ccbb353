"""A bilinear resize whose results begin where the image does, which PyTorch has not."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional


def resized_from_corner(x: Tensor, sizes: Sequence[int], mode: str = "bilinear") -> Tensor:
    """The last axes of the image in these sizes.

    With the last element of an axis again, and one more of the result, this is what ``align_corners`` has.
    """
    more = [int(old != new) for old, new in zip(x.shape[2:], sizes, strict=True)]
    edges = [edge for one in reversed(more) for edge in (0, one)]
    padded = functional.pad(x, edges, mode="replicate")
    whole = functional.interpolate(
        padded, [new + one for new, one in zip(sizes, more, strict=True)], mode=mode, align_corners=True
    )
    return whole[(slice(None), slice(None), *(slice(new) for new in sizes))]
