"""LEGALIZE rewrites for Ethos-U: constructs that Vela takes, but slowly or to something else than what TOSA says.

``docs/vela-differences.md`` lists the latter.
"""

from __future__ import annotations

from arm_tosa_core.tosa.rewrite import Rewrite

from ..accelerators import family_of
from .attention import ATTENTION_IN_PARTS
from .averages import AVERAGE_AS_DEPTHWISE
from .constants import REPEATED_CONSTANT
from .convolutions import OVERLAPPING_PATCHES, PATCHES, VIEWS
from .copies import (
    DETOUR_U55,
    DETOUR_U85,
    MADE_SMALLER,
    POOLED_CHOICE,
    POOLED_EXTREME,
    POOLED_EXTREME_U55,
)
from .heads import HEADS_OF_LAYERS, HEADS_SIDE_BY_SIDE
from .maxima import MAXIMUM_AS_POOL
from .rescales import ONE_RESCALE_U55, ONE_RESCALE_U85, RESIZED_U55, SCALES_OF_PARTS, WIDE_COPY
from .resizes import RESIZE_AS_CONVOLUTIONS
from .scores import MAXIMUM_U85
from .tables import ACTIVATION_FIRST, ONE_TABLE
from .transposed import TRANSPOSED_AS_CONVOLUTIONS
from .transposes import (
    TRANSPOSE_BY_IMAGE,
    TRANSPOSE_OF_FEW_AXES,
    TRANSPOSE_OF_MATRIX,
    transpose_in_two,
)
from .volumes import PLANES_AS_CHANNELS
from .wide import (
    RESCALED_JOINED,
    RESHAPED_FIRST,
    SMALL_SUM,
    WIDE_ASSEMBLED,
    WIDE_JOINED_U55,
    WIDE_JOINED_U85,
    WIDE_MOVED,
    WIDE_REPEATED,
    WIDENED,
)
from .widths import OF_ONE_WIDTH

#: Elements from which on two transposes are faster than one to few channels.
_LEAST = dict.fromkeys(("ethos-u85-1024", "ethos-u85-2048"), 1 << 15)


def rewrites_for(accelerator: str) -> tuple[Rewrite, ...]:
    """The rewrites for an accelerator: what Vela gets wrong differs between families, and with their on-chip memory."""
    common: tuple[Rewrite, ...] = (PATCHES, VIEWS, AVERAGE_AS_DEPTHWISE, SCALES_OF_PARTS)
    common += (ACTIVATION_FIRST, RESHAPED_FIRST, OF_ONE_WIDTH, WIDENED, WIDE_REPEATED, TRANSPOSE_OF_FEW_AXES)
    if family_of(accelerator) == "u85":
        return (
            *common,
            ATTENTION_IN_PARTS,
            ONE_RESCALE_U85,
            POOLED_EXTREME,
            POOLED_CHOICE,
            DETOUR_U85,
            ONE_TABLE,
            WIDE_COPY,
            MADE_SMALLER,
            WIDE_JOINED_U85,
            TRANSPOSE_BY_IMAGE,
            TRANSPOSE_OF_MATRIX,
            transpose_in_two(_LEAST.get(accelerator, 0)),
            HEADS_OF_LAYERS,
            HEADS_SIDE_BY_SIDE,
            MAXIMUM_U85,
        )
    return (
        *common,
        MAXIMUM_AS_POOL,
        ONE_RESCALE_U55,
        RESIZED_U55,
        OVERLAPPING_PATCHES,
        RESIZE_AS_CONVOLUTIONS,
        TRANSPOSED_AS_CONVOLUTIONS,
        PLANES_AS_CHANNELS,
        POOLED_EXTREME_U55,
        DETOUR_U55,
        REPEATED_CONSTANT,
        WIDE_JOINED_U55,
        RESCALED_JOINED,
        WIDE_MOVED,
        WIDE_ASSEMBLED,
        SMALL_SUM,
    )
