"""Images sampled at positions that the data gives, or that are constant."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..lowering.op_builder import CompositeBuilder, OpBuilder, V
from ..lowering.rule import Q, op
from ..lowering.traits import Traits
from ..lowering.values import Value
from ..support.errors import Rejected

_BILINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2
#: Bits of fraction of quantized positions: a difference of pixels of 16 bits, times such a fraction, just fits int32.
_BITS = 15
#: Weights at most of the matrices that sample: of 32x32 pixels and positions, 136,000 cycles on Ethos-U55-128.
_MOST_WEIGHTS = 1 << 20


def _multiplied(b: CompositeBuilder[V], x: V, grid: V, mode: int, padding: int, align_corners: bool) -> V:
    """At constant positions results are sums of pixels with constant weights: a linear layer, whose rows are channels.

    The weights of a pixel are what is sampled of an image in which it is 1, and all others are 0.
    """
    b.require(b.preferences.sampled_by_products, "is sampled by gathering pixels")
    b.require(all(isinstance(n, int) for n in x.shape), "samples an image whose size varies")
    at = b.known(grid)
    if at is None or not 0 < _weights(x, grid) <= _MOST_WEIGHTS:
        raise Rejected(*_why_no_product(b, x, grid))
    lanes, channels, *sides = x.shape
    pixels = math.prod(sides)
    images = torch.eye(pixels, dtype=at.dtype).reshape(1, pixels, *sides).expand(lanes, *[-1] * (x.rank - 1))
    sampled = torch.grid_sampler(images, at, mode, padding, align_corners).flatten(2).mT
    matrices = sampled[:1] if bool((sampled == sampled[:1]).all()) else sampled
    rows = b.aten.reshape(x, [lanes, channels, pixels])
    parts = [rows] if len(matrices) == 1 else [b.aten.slice(rows, 0, n, n + 1) for n in range(lanes)]
    made = [b.aten.linear(part, b.const(m.contiguous())) for part, m in zip(parts, matrices, strict=True)]
    return b.aten.reshape(made[0] if len(made) == 1 else b.aten.cat(made), [lanes, channels, *grid.shape[1:-1]])


def _weights(x: V, grid: V) -> int:
    """One for each pixel and position."""
    return math.prod(x.shape[2:]) * math.prod(grid.shape[:-1])


@op(
    "aten.grid_sampler.default",
    "aten.grid_sampler_2d.default",
    "aten.grid_sampler_3d.default",
    quant=Q.ARITHMETIC,
    decomposition=_multiplied,
    traits=Traits(samples_at=1),
)
def grid_sampler(b: OpBuilder, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """By gathering pixels. Where a target gathers none, quantization made a product, if positions are constant."""
    try:
        return _gathered(b, x, grid, mode, padding, align_corners)
    except Rejected as why:
        if not b.preferences.sampled_by_products:
            raise
        reason, fix = _why_no_product(b, x, grid)
        raise Rejected(f"{reason}: {why.reason}", fix) from why


def _why_no_product(b: CompositeBuilder[V], x: V, grid: V) -> tuple[str, str]:
    if b.known(grid) is None:
        return (
            "grid_sample at positions that are not constant",
            "if they are always the same, keep the grid in a buffer",
        )
    if (weights := _weights(x, grid)) > _MOST_WEIGHTS:
        why = f"grid_sample as a product with {weights} weights, one for each pixel and position"
        return f"{why}; {_MOST_WEIGHTS} at most", "sample a smaller image, or fewer positions"
    return "grid_sample was not quantized for this target", "quantize with the target's compile spec, the grid a buffer"


def _gathered(b: OpBuilder, x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    """The rows of the image, a pixel each, are gathered at computed places: one, or the four around a position.

    Where image and grid are quantized, positions are fixed-point numbers in int32.

    Args:
        x: [N, C, H, W].
        grid: [N, OH, OW, 2], positions from -1 to 1, x before y.
    """
    b.require(len(x.shape) == 4, "samples a volume; TOSA gathers from images", "sample plane by plane")
    b.require(mode in (_BILINEAR, _NEAREST), "samples bicubically", "use mode='bilinear'")
    if x.quant is None or grid.quant is None:
        x, grid = b.real(x), b.real(grid)
    bits = 0 if grid.quant is None else _BITS
    image = b.TRANSPOSE(x, [0, 2, 3, 1])
    if padding == _ZEROS:  # a border of its own, which positions do not leave
        image = b.PAD(image, [(0, 0), (1, 2), (1, 2), (0, 0)])
    axes = [(b.aten.select(grid, 3, 1 - axis), n) for axis, n in enumerate(x.shape[2:])]
    at = [_position(b, g, n, padding, align_corners, bits) for g, n in axes]
    if mode == _NEAREST:
        sampled = _picked(b, image, *(_whole(b, p, bits, "round") for p in at))
    else:
        ys, xs = (_around(b, p, n, bits) for p, n in zip(at, image.shape[1:3], strict=True))
        sampled = _mixed(b, image, ys, xs, bits)
    return b.TRANSPOSE(sampled, [0, 3, 1, 2])


def _position(b: OpBuilder, grid: Value, size: int, padding: int, align_corners: bool, bits: int) -> Value:
    """From -1 to 1 to pixels, 0 the middle of the first; positions beyond the image as ``padding`` says.

    Args:
        bits: of fraction of the result, plain int32; 0: reals.
    """
    one, half = (1 << bits, 1 << bits - 1) if bits else (1.0, 0.5)
    if bits:
        at = b.ADD(b.to_fixed_point(b.MUL(grid, (size - 1 if align_corners else size) / 2), bits), (size - 1) * half)
    elif align_corners:
        at = b.MUL(b.ADD(grid, 1.0), (size - 1) * half)
    else:
        at = b.MUL(b.SUB(b.MUL(b.ADD(grid, one), float(size)), one), half)
    if padding == _ZEROS:
        return b.ADD(b.clamp(at, -one, size * one), one)
    last = (size - 1) * one
    low, span = (0 * one, last) if align_corners else (-half, size * one)
    if padding == _REFLECTION and span:  # how far it is to the nearest place where the image begins
        at = b.SUB(at, low)
        begins = b.divide_rounding(at, int(2 * span)) if bits else b.aten.round(b.MUL(at, 1 / (2 * span)))
        at = b.ADD(b.aten.abs(b.SUB(at, b.MUL(begins, 2 * span))), low)
    return b.clamp(at, 0 * one, last)


def _whole(b: OpBuilder, at: Value, bits: int, mode: str) -> Value:
    """A position, rounded to a pixel."""
    return b.round_fixed_point(at, bits, mode) if bits else b.aten.round(at) if mode == "round" else b.aten.floor(at)


def _around(b: OpBuilder, at: Value, size: int, bits: int) -> tuple[Value, Value, Value]:
    """The pixel before a position, the one after, and how far it is from the former."""
    before = _whole(b, at, bits, "floor")
    after = b.clamp(b.ADD(before, 1), 0, size - 1)
    return before, after, b.SUB(at, _finer(b, before, bits))


def _picked(b: OpBuilder, image: Value, y: Value, x: Value) -> Value:
    """Pixels [N, H, W, C] at whole positions [N, OH, OW]."""
    lanes, height, width, channels = image.shape
    y, x = (b.as_index_numbers(b.cast(v, torch.int32)) for v in (y, x))
    places = b.RESHAPE(b.ADD(b.MUL(y, width), x), [lanes, y.size // lanes])
    rows = b.GATHER(b.RESHAPE(image, [lanes, height * width, channels]), places)
    return b.RESHAPE(rows, [*y.shape, channels])


def _mixed(b: OpBuilder, image: Value, ys: Sequence[Value], xs: Sequence[Value], bits: int) -> Value:
    """The four pixels around each position, weighed by how near they are."""
    *rows, down = ys
    *columns, right = xs
    pixels = [[_picked(b, image, y, x) for x in columns] for y in rows]
    down, right = (b.RESHAPE(v, [*v.shape, 1]) for v in (down, right))
    if not bits:
        above, below = (_between(b, first, second, right, 0) for first, second in pixels)
        return _between(b, above, below, down, 0)
    assert image.quant is not None
    plain = [[b.centered(p, 16) for p in pair] for pair in pixels]
    like = plain[0][0]
    assert like.quant is not None
    integers = [[b.integers(p) for p in pair] for pair in plain]
    spare = 16 - like.quant.bits  # the mean of two pixels may use the rest of the 16 bits for its fraction
    means = [_between(b, first, second, right, bits) for first, second in integers]
    above, below = (b.divide_rounding(m, 1 << bits - spare) for m in means)
    return b.reals(_between(b, above, below, down, bits), like, steps=1 << bits + spare)


def _between(b: OpBuilder, before: Value, after: Value, fraction: Value, bits: int) -> Value:
    """The number a fraction of the way from ``before`` to ``after``, with so many more bits."""
    way = b.MUL(b.SUB(after, before), fraction)
    return b.ADD(_finer(b, before, bits), way)


def _finer(b: OpBuilder, x: Value, bits: int) -> Value:
    return b.MUL(x, 1 << bits) if bits else x
