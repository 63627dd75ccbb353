"""Convolutions with a stride as convolutions over patches: pixels that the stride steps over at once are channels."""

from __future__ import annotations

import numpy as np

from ..tosa.ir import Op, Tensor
from ..tosa.pattern import Match


def is_over_patches(op: Op) -> bool:
    """Whether a convolution can be said over patches as large as its stride."""
    weight, zero = op.inputs[1], op.inputs[4].data
    return weight.is_constant and op.attrs["dilation"] == (1, 1) and zero is not None and not zero.any()


def over_patches(match: Match) -> Tensor:
    """A convolution with a stride becomes one of stride 1 over patches, as large as the stride.

    Vela has none with padding on Ethos-U55 and U65, and cuts others into single results, 196 for the patches of a
    vision transformer: 11x11 with a stride of 4 takes 43 times the cycles of this. The kernel grows to whole patches,
    by zeros: 7x7 with a stride of 4 becomes 2x2. By the NX estimator, patches of 16x16 take a tenth of the cycles.
    """
    op, insert, graph = match.op, match.insert, match.graph
    image, weight, *rest = op.inputs
    assert weight.data is not None
    outputs, height, width, channels = weight.shape
    (down, across), (top, _, left, _) = op.attrs["stride"], op.attrs["pad"]
    high, wide = -(-height // down), -(-width // across)  # the kernel in patches
    rows, columns = op.output.shape[1] + high - 1, op.output.shape[2] + wide - 1
    tensor = image
    below, right = rows * down - image.shape[1] - top, columns * across - image.shape[2] - left
    if top or below or left or right:
        tensor = insert("PAD", tensor, graph.shape((0, 0, top, below, left, right, 0, 0)), rest[1])
    tensor = insert.reshape(tensor, image.shape[0] * rows, down, columns, across * channels)
    tensor = insert("TRANSPOSE", tensor, perms=(0, 2, 1, 3))
    tensor = insert.reshape(tensor, image.shape[0], rows, columns, down * across * channels)
    ends = ((0, 0), (0, high * down - height), (0, wide * across - width), (0, 0))
    kernel = np.pad(weight.data, ends).reshape(outputs, high, down, wide, across, channels)
    kernel = np.moveaxis(kernel, 2, 3).reshape(outputs, high, wide, -1)
    attrs = {**op.attrs, "stride": (1, 1), "pad": (0, 0, 0, 0)}
    return insert("CONV2D", tensor, graph.constant(kernel, weight.dtype), *rest, **attrs)
