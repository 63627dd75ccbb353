"""CONV2D: convolutions that products of image patches can replace."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Op


def is_over_patches(op: Op) -> bool:
    """Whether a convolution can be said over patches as large as its stride."""
    weight, zero = op.inputs[1], op.inputs[4].data
    return weight.is_constant and op.attrs["dilation"] == (1, 1) and zero is not None and not zero.any()
