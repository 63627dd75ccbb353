"""Every rewrite for Ethos-U: why it is there, and on which accelerators.

The documentation is made of it, and of what ``python -m benchmarks.gains`` measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.rewrite import Rewrite

from ..accelerators import ACCELERATORS, Family
from .attention_heads import HEADS_OF_LAYERS, HEADS_SIDE_BY_SIDE, KEYS_AS_COLUMNS
from .attention_in_parts import ATTENTION_IN_PARTS
from .avg_pool_as_depthwise import AVERAGE_AS_DEPTHWISE
from .bands_of_channels import BY_BAND
from .beyond_registers import INDICES_IN_PARTS, LONG_PADDING, SUMS_OF_PARTS
from .conv2d_of_few_channels import COLUMNS_AS_CHANNELS, ROWS_AS_CHANNELS
from .conv2d_of_whole_image import WHOLE_IMAGE
from .conv2d_over_patches import OVERLAPPING_PATCHES, OVERLAPPING_PATCHES_U85, VIEWS
from .conv3d_as_channels import PLANES_AS_CHANNELS
from .dropped_bits import FLOORED, NARROWED, SHIFTED
from .int32_rescales import (
    BROADCAST_INT32,
    CONCAT_OF_INT32_U55,
    CONCAT_OF_INT32_U85,
    CONCAT_OF_RESCALE,
    CONCAT_TO_INT32,
    RESCALE_AS_CAST,
    RESCALE_AS_SUM,
    RESCALE_OF_CONCAT,
    RESHAPE_BEFORE_RESCALE,
    SCALED_OPERAND_OF_SUM,
)
from .kept_outputs import KEPT_OUTPUT, MEETS_COPY, MINIMUM_OF_COPY, REPEATED_COPY, SELECT_OF_COPIES
from .max_pool_copies import (
    DETOUR_U55,
    DETOUR_U85,
    POOLED_BEFORE_RESIZE,
    POOLED_CHOICE,
    POOLED_EXTREME,
    POOLED_EXTREME_U55,
    REPEATED_CONSTANT,
)
from .mixed_widths import OF_ONE_WIDTH
from .one_element_first import ONE_ELEMENT_FIRST
from .padding import PADDING_APART, PADDING_IN_KERNEL, POOL_APART
from .planes import PLANE_MOVED, PLANES_JOINED
from .pools_of_long_strides import ROWS_OF_WINDOWS
from .reduce_max_as_max_pool import MAXIMUM_AS_POOL
from .reduce_max_of_matmul import MAXIMUM_U85
from .rescale import CAST_TO_INT32, ONE_RESCALE, RESIZED_U55, SCALES_OF_PARTS, UNSIGNED_APART
from .resize_as_conv2d import RESIZE_AS_CONVOLUTIONS
from .slices import POOL_OF_SLICE, SLICE_OF_VIEW
from .sums_of_images import SUMS_IN_COLUMNS, SUMS_IN_COLUMNS_U85
from .table_lookups import ACTIVATION_FIRST, ONE_TABLE, RESCALED_ONCE
from .transpose import (
    POOLED_BEFORE_TRANSPOSE,
    TRANSPOSE_BY_IMAGE,
    TRANSPOSE_OF_FEW_AXES,
    TRANSPOSE_OF_FEW_AXES_U65,
    TRANSPOSE_OF_FEW_AXES_U85,
    TRANSPOSE_OF_LAYER,
    TRANSPOSE_OF_MATRIX,
    transpose_in_two,
)
from .transpose_conv2d_as_conv2d import TRANSPOSED_AS_CONVOLUTIONS
from .turned_images import TURNED_IMAGES
from .unlike_biases import UNLIKE_BIASES


class Kind(StrEnum):
    """Why a rewrite is there."""

    CORRECTNESS = "correctness"  # Vela computes something else than TOSA says: docs/reference/vela-differences.md
    SUPPORT = "support"  # Vela refuses it, or has it for fewer cases: docs/reference/vela-limits.md
    SPEED = "speed"
    MEMORY = "memory"


@dataclass(frozen=True)
class Row:
    """One rewrite.

    Args:
        rewrite: the rewrite, or what makes it for an accelerator, or a choice that Vela's estimate makes.
        elsewhere: why it is not for the other families; empty: what its kind says, or a row of its name is for them,
            or, of one for speed or memory, that it gains nothing there (``benchmarks.gains``).
        vela: of a workaround, the version of Vela that needs it. A graph that shows so is a row of ``differences.py``
            in the tests of the functional model: the row fails when a later version is right, and both can go.
    """

    rewrite: Rewrite | Callable[[str], Rewrite] | Choice
    kind: Kind
    on: tuple[Family, ...]
    elsewhere: str = ""
    vela: str = ""

    def on_accelerator(self, accelerator: str) -> Rewrite:
        """The rewrite as it is for an accelerator; of a choice, what may be chosen."""
        if isinstance(self.rewrite, Choice):
            return self.rewrite.always
        return self.rewrite if isinstance(self.rewrite, Rewrite) else self.rewrite(accelerator)


#: Why a rewrite of a kind is not for a family, where its row says nothing else.
ELSEWHERE = {
    Kind.CORRECTNESS: "Vela computes there what TOSA says",
    Kind.SUPPORT: "Vela takes the operator there as it is",
}

ALL: tuple[Family, ...] = ("u55", "u65", "u85")
SMALL: tuple[Family, ...] = ("u55", "u65")
U55: tuple[Family, ...] = ("u55",)
U65: tuple[Family, ...] = ("u65",)
U85: tuple[Family, ...] = ("u85",)


def _workaround(rewrite: Rewrite, on: tuple[Family, ...], elsewhere: str = "") -> Row:
    """The row of a rewrite without which Vela computes something else than TOSA says."""
    return Row(rewrite, Kind.CORRECTNESS, on, elsewhere=elsewhere, vela="5.2")


def _in_two(accelerator: str) -> Rewrite:
    """On the largest accelerators two transposes are faster than one from 32768 elements on."""
    return transpose_in_two(1 << 15 if accelerator in ("ethos-u85-1024", "ethos-u85-2048") else 0)


#: In the order of the documentation. The order in which they run is that of their names.
ROWS: tuple[Row, ...] = (
    Row(VIEWS, Kind.SPEED, ALL),
    Row(COLUMNS_AS_CHANNELS, Kind.SPEED, ALL),
    Row(ROWS_AS_CHANNELS, Kind.SPEED, ALL),
    Row(WHOLE_IMAGE, Kind.SPEED, ALL),
    Row(PLANES_JOINED, Kind.SPEED, ALL),
    Row(PLANE_MOVED, Kind.SPEED, ALL),
    Row(POOL_APART, Kind.SPEED, ALL),
    Row(TURNED_IMAGES, Kind.SPEED, ALL),
    Row(AVERAGE_AS_DEPTHWISE, Kind.SPEED, ALL),
    Row(SUMS_IN_COLUMNS, Kind.SPEED, SMALL),
    Row(SUMS_IN_COLUMNS_U85, Kind.SPEED, U85),
    Row(RESHAPE_BEFORE_RESCALE, Kind.SPEED, ALL),
    Row(RESCALED_ONCE, Kind.SPEED, ALL),
    Row(REPEATED_CONSTANT, Kind.SPEED, SMALL),
    Row(BY_BAND, Kind.SPEED, ALL),
    Row(ROWS_OF_WINDOWS, Kind.SPEED, ALL),
    Row(OF_ONE_WIDTH, Kind.SPEED, ALL),
    Row(PADDING_IN_KERNEL, Kind.SPEED, ALL),
    _workaround(LONG_PADDING, ALL),
    _workaround(KEPT_OUTPUT, ALL),
    _workaround(UNLIKE_BIASES, ALL),
    _workaround(PADDING_APART, ALL),
    _workaround(POOL_OF_SLICE, ALL),
    _workaround(SLICE_OF_VIEW, ALL),
    _workaround(NARROWED, ALL),
    _workaround(SHIFTED, ALL),
    _workaround(FLOORED, SMALL),
    _workaround(SCALES_OF_PARTS, ALL),
    _workaround(UNSIGNED_APART, ALL),
    _workaround(ACTIVATION_FIRST, ALL),
    _workaround(RESCALE_AS_CAST, ALL),
    _workaround(BROADCAST_INT32, ALL),
    Row(ATTENTION_IN_PARTS, Kind.MEMORY, U85),
    Row(HEADS_OF_LAYERS, Kind.SPEED, U85),
    Row(KEYS_AS_COLUMNS, Kind.SPEED, U85),
    Row(HEADS_SIDE_BY_SIDE, Kind.SPEED, U85),
    Row(MAXIMUM_U85, Kind.SPEED, U85, elsewhere="`maximum_as_pool` does this there"),
    Row(RESCALE_AS_SUM, Kind.SPEED, U85),
    Row(TRANSPOSE_OF_FEW_AXES_U85, Kind.SPEED, U85),
    Row(TRANSPOSE_BY_IMAGE, Kind.SPEED, U85),
    Row(TRANSPOSE_OF_MATRIX, Kind.SPEED, U85, elsewhere="they have no BITWISE_OR of INT8"),
    Row(TRANSPOSE_OF_LAYER, Kind.SPEED, U85, elsewhere="they have no BITWISE_OR of INT8"),
    Row(_in_two, Kind.SPEED, U85),
    _workaround(ONE_RESCALE, U85),
    _workaround(POOLED_EXTREME, U85),
    _workaround(SELECT_OF_COPIES, U85, elsewhere="they have no SELECT"),
    _workaround(POOLED_CHOICE, U85),
    _workaround(DETOUR_U85, U85),
    _workaround(ONE_TABLE, U85),
    _workaround(CAST_TO_INT32, U85),
    _workaround(POOLED_BEFORE_RESIZE, U85),
    _workaround(CONCAT_OF_INT32_U85, U85),
    Row(MAXIMUM_AS_POOL, Kind.SPEED, SMALL),
    Row(OVERLAPPING_PATCHES, Kind.SUPPORT, SMALL, elsewhere="Ethos-U85 has `overlapping_patches_u85`"),
    Row(OVERLAPPING_PATCHES_U85, Kind.SPEED, U85, elsewhere="the others have `overlapping_patches`"),
    Row(RESIZE_AS_CONVOLUTIONS, Kind.SUPPORT, SMALL),
    Row(TRANSPOSED_AS_CONVOLUTIONS, Kind.SUPPORT, SMALL),
    Row(PLANES_AS_CHANNELS, Kind.SUPPORT, SMALL),
    Row(SUMS_OF_PARTS, Kind.SUPPORT, SMALL),
    _workaround(SUMS_OF_PARTS, U85),
    _workaround(INDICES_IN_PARTS, U85, elsewhere="they have no GATHER and SCATTER"),
    Row(TRANSPOSE_OF_FEW_AXES, Kind.SUPPORT, U55),
    Row(TRANSPOSE_OF_FEW_AXES_U65, Kind.SUPPORT, U65),
    Row(POOLED_BEFORE_TRANSPOSE, Kind.SUPPORT, SMALL),
    _workaround(RESIZED_U55, SMALL),
    _workaround(POOLED_EXTREME_U55, SMALL),
    _workaround(MINIMUM_OF_COPY, SMALL),
    _workaround(MEETS_COPY, SMALL),
    _workaround(REPEATED_COPY, SMALL),
    _workaround(DETOUR_U55, SMALL),
    _workaround(CONCAT_OF_INT32_U55, SMALL),
    _workaround(CONCAT_OF_RESCALE, SMALL),
    _workaround(RESCALE_OF_CONCAT, SMALL),
    _workaround(CONCAT_TO_INT32, SMALL),
    _workaround(SCALED_OPERAND_OF_SUM, SMALL),
    _workaround(ONE_ELEMENT_FIRST, SMALL),
)


def why_not_elsewhere(row: Row) -> str:
    """Why other families lack the rewrite of a row; empty for a row of all families, or where it gains nothing."""
    if row.on == ALL:
        return ""
    same = [other for other in ROWS if shown(other).name == shown(row).name and other is not row]
    return row.elsewhere or ("the row of this name is for them" if same else ELSEWHERE.get(row.kind, ""))


def shown(row: Row) -> Rewrite:
    """The rewrite of a row on the first accelerator that has it."""
    return row.on_accelerator(next(name for name, family in ACCELERATORS.items() if family in row.on))
