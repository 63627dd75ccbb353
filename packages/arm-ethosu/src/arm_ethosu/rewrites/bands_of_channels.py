"""Depthwise convolutions of an image whose rows were parted into channels, as in sub-spectral normalization."""

from __future__ import annotations

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor, fewest_axes
from arm_tosa_core.tosa.pattern import Match, Pattern

from .graph_parts import WORTH_ASKING, with_movers

#: Parts at most: each is an operation of its own.
_MOST_BANDS = 16


def _bands(turn: Op, image: Tensor) -> int | None:
    """How many parts one behind the other become neighbouring channels of ``image``; None if something else does."""
    axes, perms = fewest_axes(turn.inputs[0].shape, turn.attrs["perms"])
    bands = axes[0]
    turned = perms == (1, 0) and bands <= _MOST_BANDS and image.rank == 4 and image.shape[0] == 1
    return bands if turned and image.shape[3] % bands == 0 else None


def _check(match: Match) -> str | None:
    layer = match["layer"]
    if layer.inputs[1].shape[3] != 1 or any(x.data is None for x in (*layer.inputs[1:], *match.op.inputs[1:])):
        return "it has a multiplier, or its weights are computed"
    if layer.output.size < WORTH_ASKING:
        return "it is small"
    return None if _bands(match["turn"], layer.inputs[0]) else "its image is not made of bands"


def _by_band(match: Match) -> Tensor:
    """A depthwise convolution of bands of rows that were made channels is one of each band, with its own weights.

    Then nothing is moved: the batch norm of BC-ResNet, of 8 channels by 5 bands, transposes [5, 1600] and back, at 13
    cycles an element on Ethos-U85-256.
    """
    layer, turn, insert = match["layer"], match["turn"], match.insert
    bands = _bands(turn, layer.inputs[0])
    assert bands is not None
    _, height, width, channels = layer.inputs[0].shape
    image = insert.reshape(turn.inputs[0], 1, bands * height, width, channels // bands)
    parts = []
    for band in range(bands):

        def own(constant: Tensor, axis: int, band: int = band) -> Tensor:
            assert constant.data is not None
            if constant.shape[axis] != channels:
                return constant
            chosen = (slice(None),) * axis + (slice(band, None, bands),)
            return match.graph.constant(constant.data[chosen].copy(), constant.dtype)

        rows = insert.slice(image, 1, band * height, height)
        weights, bias = own(layer.inputs[1], 2), own(layer.inputs[2], 0)
        wide = insert.like(layer, rows, weights, bias, *layer.inputs[3:])
        scales = (own(scale, 0) for scale in match.op.inputs[1:3])
        parts.append(insert.like(match.op, wide, *scales, *match.op.inputs[3:]))
    joined = insert.join(parts, axis=1)
    joined = insert("TRANSPOSE", insert.reshape(joined, bands, joined.size // bands), perms=(1, 0))
    return insert.reshape(joined, *match.op.output.shape)


_IMAGE = Pattern("RESHAPE", {0: Pattern("TRANSPOSE", name="turn", alone=True)}, alone=True)
BY_BAND = Choice(
    "by_band",
    Pattern("RESCALE", {0: Pattern("DEPTHWISE_CONV2D", {0: _IMAGE}, name="layer", alone=True)}),
    _by_band,
    _check,
    around=lambda graph, op: with_movers(_layer_of(op)),
)


def _layer_of(rescale: Op) -> list[Op]:
    layer = rescale.inputs[0].producer
    assert layer is not None
    return [layer, rescale]
