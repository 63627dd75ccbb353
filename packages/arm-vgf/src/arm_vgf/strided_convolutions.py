"""Convolutions with a stride over few channels, of which the neural accelerator computes 16 at once, used or not."""

from __future__ import annotations

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.rewrites.conv2d_over_patches import is_over_patches, over_patches
from arm_tosa_core.tosa.pattern import Match, Pattern

#: Of an image with more channels no patches were faster.
_FEW_CHANNELS = 16


def _check(match: Match) -> str | None:
    image, stride = match.op.inputs[0], match.op.attrs["stride"]
    if min(stride) < 2 or image.shape[3] > _FEW_CHANNELS or not is_over_patches(match.op):
        return "it steps over nothing, has many channels, or its weights vary"
    return None


#: The patches of 16x16 of a vision transformer: a fifth of DeiT-tiny's cycles were theirs.
OVER_PATCHES = Choice("convolution_over_patches", Pattern("CONV2D"), over_patches, _check)
