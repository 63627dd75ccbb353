"""Every rewrite for Ethos-U: why it is there, what it gains, on which accelerators. The documentation is made of it.

python -m arm_ethosu.rewrites    # the table as Markdown
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
from .channels_in_order import CHANNELS_IN_ORDER
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
    RESCALE_OF_CONCAT,
    RESHAPE_BEFORE_RESCALE,
    SMALL_SUM,
)
from .kept_outputs import KEPT_OUTPUT, MEETS_COPY, MINIMUM_OF_COPY, REPEATED_COPY, SELECT_OF_COPIES
from .max_pool_copies import (
    DETOUR_U55,
    DETOUR_U85,
    MADE_SMALLER,
    POOLED_CHOICE,
    POOLED_EXTREME,
    POOLED_EXTREME_U55,
    REPEATED_CONSTANT,
)
from .mixed_widths import OF_ONE_WIDTH
from .moves_of_layouts import MOVE_BEHIND_LAYOUT, PLANE_MOVED, PLANES_JOINED
from .one_element_first import ONE_ELEMENT_FIRST
from .padding import PADDING_APART, PADDING_IN_KERNEL, POOL_APART
from .pools_of_long_strides import ROWS_OF_WINDOWS
from .reduce_max_as_max_pool import MAXIMUM_AS_POOL
from .reduce_max_of_matmul import MAXIMUM_U85
from .rescale import CAST_TO_INT32, ONE_RESCALE, RESIZED_U55, SCALES_OF_PARTS, UNSIGNED_APART
from .resize_as_conv2d import RESIZE_AS_CONVOLUTIONS
from .slices import POOL_OF_SLICE, SLICE_OF_VIEW
from .sums_of_images import SUMS_IN_COLUMNS, SUMS_IN_COLUMNS_U85
from .table_lookups import ACTIVATION_FIRST, ONE_TABLE
from .transpose import (
    OWN_AXES,
    TRANSPOSE_BY_IMAGE,
    TRANSPOSE_OF_FEW_AXES,
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
        gain: what was measured, by Vela's estimate; empty: nothing was.
        elsewhere: why it is not for the other families; empty: what its kind says, or a row of its name is for them.
        vela: of a workaround, the version of Vela that needs it. A graph that shows so is a row of ``differences.py``
            in the tests of the functional model: the row fails when a later version is right, and both can go.
    """

    rewrite: Rewrite | Callable[[str], Rewrite] | Choice
    kind: Kind
    on: tuple[Family, ...]
    gain: str = ""
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
U85: tuple[Family, ...] = ("u85",)


def _workaround(rewrite: Rewrite, on: tuple[Family, ...], elsewhere: str = "") -> Row:
    """The row of a rewrite without which Vela computes something else than TOSA says."""
    return Row(rewrite, Kind.CORRECTNESS, on, elsewhere=elsewhere, vela="5.2")


def _in_two(accelerator: str) -> Rewrite:
    """On the largest accelerators two transposes are faster than one from 32768 elements on."""
    return transpose_in_two(1 << 15 if accelerator in ("ethos-u85-1024", "ethos-u85-2048") else 0)


#: In the order of the documentation. The order in which they run is that of their names.
ROWS: tuple[Row, ...] = (
    Row(VIEWS, Kind.SPEED, ALL, "2 G MACs in place of 72 G in DeepLabv3"),
    Row(COLUMNS_AS_CHANNELS, Kind.SPEED, ALL, "1.41 M cycles in place of 2.61 M for 7x7 over 3 channels on U55-128"),
    Row(ROWS_AS_CHANNELS, Kind.SPEED, ALL, "9.32 M cycles in place of 9.96 M for ResNet-18 on U65-512"),
    Row(WHOLE_IMAGE, Kind.SPEED, ALL, "7.86 M cycles in place of 9.32 M for ResNet-18 on U65-512"),
    Row(MOVE_BEHIND_LAYOUT, Kind.SPEED, ALL, "151,000 cycles fewer for 3x3 with a stride of 2 over 224x224 on U55-128"),
    Row(PLANES_JOINED, Kind.SPEED, ALL, "0.68 M cycles in place of 1.99 M for four of 172x309 on U85-256"),
    Row(
        PLANE_MOVED, Kind.SPEED, ALL, "with `planes_joined` 5.9 M cycles in place of 11.0 M for Basic Pitch on U85-256"
    ),
    Row(POOL_APART, Kind.SPEED, ALL, "7.01 M cycles in place of 7.86 M for ResNet-18 on U65-512"),
    Row(TURNED_IMAGES, Kind.SPEED, ALL, "0.77 M cycles in place of 1.27 M for torchcrepe on U55-128"),
    Row(AVERAGE_AS_DEPTHWISE, Kind.SPEED, ALL, "1.41 M cycles in place of 1.54 M for Inception-v3 on U85-256"),
    Row(SUMS_IN_COLUMNS, Kind.SPEED, SMALL, "9,148 cycles in place of 32,777 for the pool of 7x7x1280 on U55-128"),
    Row(SUMS_IN_COLUMNS_U85, Kind.SPEED, U85, "35,641 cycles in place of 36,204 for DS-CNN on U85-256"),
    Row(
        CHANNELS_IN_ORDER,
        Kind.SPEED,
        ALL,
        "95,000 cycles in place of 465,000 for a layer and PixelShuffle(3) on U85-256",
    ),
    Row(
        RESHAPE_BEFORE_RESCALE,
        Kind.SPEED,
        ALL,
        "37,000 cycles in place of 132,000 for conv, PReLU, conv of [32, 32, 32] on U85-256",
    ),
    Row(
        REPEATED_CONSTANT,
        Kind.SPEED,
        SMALL,
        "153,000 cycles in place of 390,000 for conv, PReLU, conv of [32, 32, 32] on U55-128",
        elsewhere="BERT-tiny 0.03 % slower, five networks the same",
    ),
    Row(BY_BAND, Kind.SPEED, ALL, "12,200 cycles in place of 120,300 for 5 bands of [20, 50, 8] on U85-256"),
    Row(ROWS_OF_WINDOWS, Kind.SPEED, ALL, "6,500 cycles in place of 38,400 for windows of 4 of [1600, 4] on U55-128"),
    Row(OF_ONE_WIDTH, Kind.SPEED, ALL, "1,320 cycles in place of 16,792 for [1, 256, 16] by [1, 256, 1] on U85-256"),
    Row(PADDING_IN_KERNEL, Kind.SPEED, ALL, "7.20 M cycles in place of 7.72 M for DNSMOS P.808 on U55-128"),
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
    Row(
        ATTENTION_IN_PARTS,
        Kind.MEMORY,
        U85,
        "7.2 MiB of SRAM in place of 27.0, and 28.1 M cycles in place of 36.1 M, for 6 heads of [1500, 64] on U85-256",
        elsewhere="no effect in the six networks that were tried",
    ),
    Row(
        HEADS_OF_LAYERS,
        Kind.SPEED,
        U85,
        "85,000 cycles in place of 103,000 for three heads of [197, 64] on U85-256",
        elsewhere="not asked there; made always, SegFormer is 0.2 to 1.3 % slower, three are 0.1 to 0.6 % faster",
    ),
    Row(
        KEYS_AS_COLUMNS,
        Kind.SPEED,
        U85,
        "204,000 cycles in place of 208,000 for ViT on U85-256",
        elsewhere="the estimate is not asked there, as with `heads_of_layers`",
    ),
    Row(
        HEADS_SIDE_BY_SIDE,
        Kind.SPEED,
        U85,
        "13,000 cycles fewer for four heads of [256, 36] on U85-256",
        elsewhere="BERT-tiny 0.2 to 0.3 % slower",
    ),
    Row(
        MAXIMUM_U85,
        Kind.SPEED,
        U85,
        "71,000 cycles in place of 229,000 for 3 x 197 rows of 197 on U85-256",
        elsewhere="`maximum_as_pool` does this there",
    ),
    Row(TRANSPOSE_OF_FEW_AXES_U85, Kind.SPEED, U85, "0.56 M cycles in place of 0.98 M for ShuffleNetV2 on U85-256"),
    Row(
        TRANSPOSE_BY_IMAGE,
        Kind.SPEED,
        U85,
        "0.36 M cycles in place of 2.06 M for [8, 7, 8, 672] on U85-256",
        elsewhere="networks 1 to 11 % slower",
    ),
    Row(
        TRANSPOSE_OF_MATRIX,
        Kind.SPEED,
        U85,
        "2,960 cycles in place of 7,928 for [40, 296] on U85-256",
        elsewhere="they have no BITWISE_OR of INT8",
    ),
    Row(
        TRANSPOSE_OF_LAYER,
        Kind.SPEED,
        U85,
        "26,800 cycles in place of 819,600 for 64 rows of 256 on U85-256",
        elsewhere="they have no BITWISE_OR of INT8",
    ),
    Row(
        _in_two,
        Kind.SPEED,
        U85,
        "100,000 cycles in place of 364,000 for [784, 2, 58] by (0, 2, 1) on U85-256",
        elsewhere="networks 0.05 to 3.6 % slower",
    ),
    _workaround(ONE_RESCALE, U85),
    _workaround(POOLED_EXTREME, U85),
    _workaround(SELECT_OF_COPIES, U85, elsewhere="they have no SELECT"),
    _workaround(POOLED_CHOICE, U85),
    _workaround(DETOUR_U85, U85),
    _workaround(ONE_TABLE, U85),
    _workaround(CAST_TO_INT32, U85),
    _workaround(MADE_SMALLER, U85),
    _workaround(CONCAT_OF_INT32_U85, U85),
    Row(
        MAXIMUM_AS_POOL,
        Kind.SPEED,
        SMALL,
        "38,000 cycles in place of 88,900 along 16 channels of 32x32 on U55-128",
        elsewhere="ViT 14 % slower, BERT-tiny 1.6 %",
    ),
    Row(
        OVERLAPPING_PATCHES,
        Kind.SUPPORT,
        SMALL,
        "a 43rd of the cycles for 11x11 with a stride of 4",
        elsewhere="Ethos-U85 has `overlapping_patches_u85`",
    ),
    Row(
        OVERLAPPING_PATCHES_U85,
        Kind.SPEED,
        U85,
        "1.07 M cycles in place of 1.31 M for AlexNet's first two layers on U85-256",
        "the others have `overlapping_patches`",
    ),
    Row(RESIZE_AS_CONVOLUTIONS, Kind.SUPPORT, SMALL, elsewhere="Vela takes RESIZE there, and SegFormer is 14 % slower"),
    Row(TRANSPOSED_AS_CONVOLUTIONS, Kind.SUPPORT, SMALL),
    Row(PLANES_AS_CHANNELS, Kind.SUPPORT, SMALL),
    Row(SUMS_OF_PARTS, Kind.SUPPORT, SMALL),
    _workaround(SUMS_OF_PARTS, U85),
    _workaround(INDICES_IN_PARTS, U85, elsewhere="they have no GATHER and SCATTER"),
    Row(TRANSPOSE_OF_FEW_AXES, Kind.SUPPORT, SMALL),
    Row(OWN_AXES, Kind.SUPPORT, SMALL),
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
    _workaround(SMALL_SUM, SMALL),
    _workaround(ONE_ELEMENT_FIRST, SMALL),
)


def markdown() -> str:
    """The rows as a Markdown table."""
    lines = ["| Rewrite | What it does | Why | Gain | On | Not on the others because |", "|---|---|---|---|---|---|"]
    for row in ROWS:
        what = _shown(row).reason.replace("|", "\\|")
        if isinstance(row.rewrite, Choice):
            what += " Where the estimate says so."
        where = "all" if row.on == ALL else ", ".join(f"Ethos-{family.upper()}" for family in row.on)
        why = f"{row.kind}, Vela {row.vela}" if row.vela else row.kind
        cells = (f"`{_shown(row).name}`", what, why, row.gain or "not measured", where, why_not_elsewhere(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def why_not_elsewhere(row: Row) -> str:
    """The reason why other families lack the rewrite of a row; empty for a row of all families."""
    if row.on == ALL:
        return ""
    same = [other for other in ROWS if _shown(other).name == _shown(row).name and other is not row]
    return row.elsewhere or ("the row of this name is for them" if same else ELSEWHERE[row.kind])


def _shown(row: Row) -> Rewrite:
    return row.on_accelerator(next(name for name, family in ACCELERATORS.items() if family in row.on))
