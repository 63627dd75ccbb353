"""Convolutions of large pictures in two bands of rows, for which the neural accelerator finds better blocks."""

from __future__ import annotations

import itertools

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern

#: Bytes of a picture that is worth asking the estimate for a whole graph.
_LARGE = 1 << 22
#: What an estimate of the whole graph must gain.
_MARGIN = 0.01
#: The first band is a multiple of so many rows.
_ROWS = 16


def _cut(layer: Op) -> int:
    """How many rows of the result the first band has."""
    return -(-layer.output.shape[1] // 2 // _ROWS) * _ROWS


def _check(match: Match) -> str | None:
    layer = match["layer"]
    if layer.inputs[0].size < _LARGE or any(x.data is None for x in (*layer.inputs[1:], *match.op.inputs[1:])):
        return "its picture is small, or its weights are computed"
    if layer.inputs[0].shape[0] != 1 or not 0 < _cut(layer) < layer.output.shape[1]:
        return "it has several pictures, or too few rows"
    return "it is a band itself" if (maker := layer.inputs[0].producer) and maker.name == "SLICE" else None


def _bands(match: Match) -> Tensor:
    """CONV2D and its RESCALE of the upper and of the lower rows, each with the rows beyond that its kernel reads."""
    layer, insert = match["layer"], match.insert
    image, kernel = layer.inputs[0], layer.inputs[1].shape[1]
    _, height, width, channels = image.shape
    top, _, *sides = layer.attrs["pad"]
    stride, reach = layer.attrs["stride"][0], (kernel - 1) * layer.attrs["dilation"][0] + 1
    rows = (0, _cut(layer), layer.output.shape[1])
    bands = []
    for first, end in itertools.pairwise(rows):
        start, stop = first * stride - top, (end - 1) * stride - top + reach
        above, below = max(0, -start), max(0, stop - height)
        begin, size = start + above, stop - below - start - above
        part = insert(
            "SLICE", image, match.graph.shape((0, begin, 0, 0)), match.graph.shape((1, size, width, channels))
        )
        wide = insert.like(layer, part, *layer.inputs[1:], pad=(above, below, *sides))
        bands.append(insert.like(match.op, wide, *match.op.inputs[1:]))
    return insert("CONCAT", *bands, axis=1)


#: For some heights of a picture the tool plans inefficient blocks: a 3x3 convolution of 80 channels at 544x960 takes
#: 43 % fewer cycles in two bands. In a graph the cut may cost what the operator before left in a cache: hence the
#: whole graph.
BANDS_OF_ROWS = Choice(
    "bands_of_rows",
    Pattern("RESCALE", {0: Pattern("CONV2D", name="layer", alone=True)}),
    _bands,
    _check,
    around=lambda graph, op: list(graph.ops),
    margin=_MARGIN,
)
