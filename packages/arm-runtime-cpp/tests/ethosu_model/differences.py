"""Constructs that Vela compiles to something else than what TOSA says: the rows of ``test_differences.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from graphs import I8, I16, I32, I48, U8, Make, Maker

from arm_tosa_core.tosa.ir import DType, Tensor

_SHAPE = (1, 5, 6, 19)


@dataclass(frozen=True)
class Row:
    """A construct that goes wrong.

    Args:
        refused: a check of the target refuses it; else a rewrite of the target goes round it.
        off: how far results of the rewritten graph may be from those of the original one.
    """

    make: Make
    accelerator: str
    refused: bool = False
    off: int = 0


def _unsigned_difference(m: Maker) -> Tensor:
    difference = m.op("SUB", m.rescale(m.input(I8, 4, 6), I32, 256.0), m.rescale(m.input(I8, 4, 6), I32, 99.0))
    flat = m.op("RESHAPE", m.rescale(difference, I8, 1 / 256), m.graph.shape((24,)))
    return m.rescale(flat, U8, 1.0, zero_out=128)


def _joined_reshaped(m: Maker) -> Tensor:
    joined = m.op("CONCAT", m.input(I32, 3, 4), m.input(I32, 3, 5), axis=1)
    return m.rescale(m.op("RESHAPE", joined, m.graph.shape((9, 3))), I8, 1e-2)


def _joined_again(m: Maker) -> Tensor:
    joined = m.op("CONCAT", m.input(I8, 1, 4, 3, 7), m.input(I8, 1, 4, 3, 5), axis=3)
    return m.op("CONCAT", m.rescale(joined, I8, 0.9), m.input(I8, 1, 4, 3, 3), axis=3)


def _padded_again(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 4, 3, 7), m.graph.shape((0, 0, 0, 1, 0, 2, 1, 0)), m.const(I8, [7]))
    return m.op("CONCAT", m.input(I8, 1, 3, 5, 8), m.rescale(padded, I8, 0.9), axis=1)


def _tiled(m: Maker, dtype: DType, scale: float, to: DType = I8) -> Tensor:
    return m.rescale(m.op("TILE", m.input(dtype, 1, 4, 3, 7), m.graph.shape((1, 1, 2, 1))), to, scale)


def _resize(m: Maker) -> Tensor:
    shapes = [m.graph.shape(values) for values in ((4, 2, 8, 2), (-1, -3), (1, 3))]
    return m.op("RESIZE", m.input(I8, 1, 4, 4, 8), *shapes, mode="NEAREST_NEIGHBOR")


def _transpose_conv(m: Maker) -> Tensor:
    return m.conv(m.input(I8, 1, 5, 6, 12), (3, 3), 14, op="TRANSPOSE_CONV2D", stride=(2, 2))


def _two_rescales(
    m: Maker, dtype: DType, first: float, to: DType, second: float, *, wide: bool = True
) -> Tensor:  # fmt: skip
    """A convolution to INT48, rescaled to ``dtype`` and again."""
    weights, bias = m.random(I8, -127, 128, 5, 1, 1, 7), m.const(I48, [0] * 5)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    conv = m.op("CONV2D", m.input(I16, 1, 5, 6, 7), weights, bias, m.const(I16, [0]), m.const(I8, [0]), **attrs)
    rescaled = m.rescale(conv, dtype, first, wide=False)
    return m.rescale(rescaled, to, second, channels=5, wide=wide)


def _transposed_table(m: Maker) -> Tensor:
    return m.op("TABLE", m.op("TRANSPOSE", m.input(I8, *_SHAPE), perms=[0, 3, 1, 2]), m.random(I8, -128, 128, 256))


def _transposed_reshaped_table(m: Maker) -> Tensor:
    moved = m.op("TRANSPOSE", m.input(I8, 1, 8, 8, 16), perms=[0, 3, 1, 2])
    return m.op("TABLE", m.op("RESHAPE", moved, m.graph.shape((1, 8, 16, 8))), m.random(I8, -128, 128, 256))


def _two_with_out_pad(m: Maker) -> Tensor:
    """Two transposed convolutions of equal scales, whose last row and column have the bias alone."""
    x, made = m.input(I8, 1, 3, 4, 5), []
    for _ in range(2):
        weights, bias = m.random(I8, -127, 128, 6, 3, 3, 5), m.random(I32, -9000, 9000, 6)
        operands, attrs = (weights, bias, *[m.const(I8, [0])] * 2), {"out_pad": (0, 1, 0, 1), "stride": (2, 2)}
        made.append(m.rescale(m.op("TRANSPOSE_CONV2D", x, *operands, **attrs), I8, 5e-3))
    return m.sum("ADD", *made, 19)


def _tied(m: Maker, op: str, dtype: DType) -> Tensor:
    """Three convolutions of one image with the same weights and scales, and other biases."""
    x, results = m.input(dtype, 1, 4, 5, 2), []
    shape = (1, 1, 2, 1) if op == "DEPTHWISE_CONV2D" else (2, 1, 1, 2)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    for i in range(3):
        bias = m.const(I32 if dtype is I8 else I48, [3000 * i - 4000, 2000 * i])
        weights, zeros = m.const(I8, np.resize([90, -127, 127], shape)), [m.const(dtype, [0]), m.const(I8, [0])]
        results.append(m.rescale(m.op(op, x, weights, bias, *zeros, **attrs), dtype, 3e-3, wide=dtype is I8))
    return m.op("CONCAT", *results, axis=3)


def _matmul(m: Maker) -> Tensor:
    return m.op("MATMUL", m.input(I8, 1, 65537, 2), m.input(I8, 1, 2, 1), m.const(I8, [0]), m.const(I8, [0]))


def _pad(m: Maker) -> Tensor:
    return m.op("PAD", _transpose_conv(m), m.graph.shape((0, 0, 1, 1, 2, 2, 3, 0)), m.const(I8, [4]))


def _concat_product(m: Maker) -> Tensor:
    product = m.op("RESHAPE", m.matmul(m.input(I8, 5, 6, 7), m.input(I8, 5, 7, 8)), m.graph.shape((1, 5, 6, 8)))
    return m.op("CONCAT", m.input(I8, 1, 5, 6, 3), product, axis=3)


def _concat_maximum(m: Maker) -> Tensor:
    return m.op("CONCAT", m.input(I8, 1, 5, 6, 3), m.op("REDUCE_MAX", m.input(I8, 1, 5, 6, 7), axis=3), axis=3)


def _maximum_of_slice(m: Maker) -> Tensor:
    part = m.op("SLICE", m.input(I8, 1, 5, 6, 7), m.graph.shape((0, 1, 1, 1)), m.graph.shape((1, 2, 3, 4)))
    return m.op("REDUCE_MAX", part, axis=3)


def _transpose_conv_of_slice(m: Maker) -> Tensor:
    x = m.sum("ADD", m.input(I8, 1, 5, 6, 7), m.input(I8, 1, 5, 6, 7), 19)
    part = m.op("SLICE", x, m.graph.shape((0, 1, 1, 1)), m.graph.shape((1, 2, 3, 4)))
    return m.conv(part, (3, 3), 5, op="TRANSPOSE_CONV2D", stride=(2, 2))


def _conv3d_of_slice(m: Maker) -> Tensor:
    part = m.op("SLICE", m.input(I8, 1, 2, 1, 1, 2), m.graph.shape((0, 0, 0, 0, 1)), m.graph.shape((1, 2, 1, 1, 1)))
    return m.conv(part, (2, 1, 1), 1, op="CONV3D")


def _product_of_slice(m: Maker) -> Tensor:
    x = m.sum("ADD", m.input(I8, 1, 1, 1, 9), m.input(I8, 1, 1, 1, 9), 19)
    part = m.op("SLICE", x, m.graph.shape((0, 0, 0, 1)), m.graph.shape((1, 1, 1, 4)))
    return m.matmul(m.op("RESHAPE", part, m.graph.shape((1, 1, 4))), m.input(I8, 1, 4, 8))


def _two_tables(m: Maker) -> Tensor:
    def table(x: Tensor) -> Tensor:
        points = np.clip(np.cumsum(m.rng.integers(-120, 121, 513)), -32768, 32767)
        return m.rescale(m.op("TABLE", x, m.const(I16, points)), I16, 2.0**-7)

    first = table(m.input(I16, *_SHAPE))
    return table(m.rescale(m.op("MUL", first, m.input(I16, *_SHAPE), m.const(I8, [0])), I16, 3e-5))


def _distance(m: Maker, x: Tensor, to_channels: bool) -> Tensor:
    """From the largest channel, as in a softmax, or from what has the place of it."""
    most = m.op("REDUCE_MAX", x, axis=x.rank - 1) if to_channels else m.input(I8, *x.shape)
    return m.rescale(m.op("SUB", m.rescale(x, I32, 1.0), m.rescale(most, I32, 1.0)), I8, 1.0, zero_out=127)


def _scores(m: Maker) -> Tensor:
    row = m.conv(m.input(I8, 1, 1, 1, 24), (1, 1), 32, scale=1e-3)
    return _distance(m, m.op("RESHAPE", row, m.graph.shape((1, 32))), True)


def _table_of_distance(m: Maker) -> Tensor:
    steps = m.rescale(_distance(m, m.input(I8, *_SHAPE), False), I16, 128.0, zero_in=127)
    return m.rescale(m.op("TABLE", steps, m.const(I16, np.arange(513) * 60 - 15000)), I16, 2.0**-7)


def _sum_read_twice(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", m.rescale(m.input(I8, *_SHAPE), I32, 1.0), axis=2)
    parts = [m.rescale(m.rescale(total, to, scale, zero_out=zero), I32, 1.0, zero_in=zero)
             for to, scale, zero in ((I8, 0.31, 3), (I16, 41.7, 0))]  # fmt: skip
    return m.rescale(m.op("MUL", *parts, m.const(I8, [0])), I16, 1e-2)


def _maximum_of_sum(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", m.rescale(m.input(I8, 1, 5, 6, 7), I32, 1.0), axis=2)
    return m.op("REDUCE_MAX", m.rescale(total, I8, 0.2), axis=3)


def _rescale_padded(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 3, 3, 4), m.graph.shape((0, 0, 0, 0, 0, 0, 2, 2)), m.const(I8, [100]))
    return m.rescale(padded, I8, 0.8, channels=8)


def _rescale_tiled(m: Maker) -> Tensor:
    return m.rescale(m.op("TILE", m.input(I16, 1, 4, 3, 4), m.graph.shape((1, 1, 1, 2))), I16, 0.8, channels=8)


def _padded_pool(m: Maker, pad: tuple[int, ...]) -> Tensor:
    return m.pool("MAX_POOL2D", m.input(I8, 1, 300, 2, 4), (257, 1), (1, 1), pad)


def _tall(m: Maker, name: str, rows: int = 257) -> Tensor:
    x, more = m.input(I8, 1, 300, 2, 4), m.graph.shape((0, 0, 0, 256, 0, 0, 0, 0))
    if name == "PAD":
        x = m.op("PAD", x, more, m.const(I8, [3]))
    else:
        x = m.op("CONCAT", x, m.input(I8, 1, 256, 2, 4), axis=1)
    return m.conv(x, (rows, 1), 4)


def _padded_average(m: Maker, pad: tuple[int, ...]) -> Tensor:
    return m.pool("AVG_POOL2D", m.input(I8, 1, 1, 300, 4), (1, 257), (1, 1), pad)


def _choice(m: Maker) -> Tensor:
    x, y = m.input(I16, *_SHAPE), m.input(I16, *_SHAPE)
    larger = m.op("GREATER", m.rescale(x, I32, 2.0**14), m.rescale(y, I32, 0.9 * 2.0**14))
    return m.op("SELECT", larger, x, m.rescale(y, I16, 0.5))


def _swapped(m: Maker, x: Tensor) -> Tensor:
    return m.op("TRANSPOSE", x, perms=[0, 2, 1, 3])


def _sum_of_swapped(m: Maker) -> Tensor:
    return m.sum("ADD", _swapped(m, m.input(I8, 1, 12, 12, 64)), m.input(I8, 1, 12, 12, 64), 19)


def _padded_transpose(m: Maker) -> Tensor:
    moved = m.op("TRANSPOSE", m.input(I8, 8, 8, 8, 4), perms=[1, 3, 2, 0])
    padding = m.graph.shape((0, 0, 0, 0, 0, 0, 0, 1))
    return m.op("PAD", m.op("RESHAPE", moved, m.graph.shape((8, 8, 8, 4))), padding, m.const(I8, [3]))


def _twice_transposed(m: Maker) -> Tensor:
    return _swapped(m, m.op("RESHAPE", _swapped(m, m.input(I8, 1, 2, 10, 45)), m.graph.shape((1, 2, 10, 45))))


def _transposed_in_steps(m: Maker) -> Tensor:
    first = m.op("TRANSPOSE", m.input(I8, 1, 2, 5, 5, 2, 9), perms=[0, 1, 2, 4, 3, 5])
    return m.op("TRANSPOSE", m.op("RESHAPE", first, m.graph.shape((2, 10, 5, 9))), perms=[1, 2, 3, 0])


def _transposed_clamp(m: Maker) -> Tensor:
    transposed = m.op("TRANSPOSE", m.input(I8, 1, 5, 7, 59), perms=[0, 3, 2, 1])
    clamped = m.op("CLAMP", transposed, min_val=np.int8(-50), max_val=np.int8(50), nan_mode="PROPAGATE")
    return m.conv(clamped, (7, 2), 1, stride=(2, 2), dilation=(2, 2))


def _weighted_mask(m: Maker) -> Tensor:
    x, y = (m.rescale(m.input(I16, 3, 9), I32, 1.0) for _ in range(2))
    mask = m.op("RESHAPE", m.op("CAST", m.op("GREATER_EQUAL", x, y), output_dtype=I8), m.graph.shape((1, 27)))
    return m.rescale(mask, I16, 9830.0)


def _maximum_of_a_channel(m: Maker) -> Tensor:
    part = m.op("SLICE", m.input(I8, 1, 1, 1, 7), m.graph.shape((0, 0, 0, 2)), m.graph.shape((1, 1, 1, 1)))
    return m.op("REDUCE_MAX", part, axis=3)


def _widened(m: Maker, *shape: int) -> Tensor:
    return m.rescale(m.input(I8, *shape), I32, 1.0)


def _outer_product(m: Maker) -> Tensor:
    row = m.op("RESHAPE", _widened(m, 3, 1), m.graph.shape((1, 3)))
    return m.rescale(m.op("MUL", row, _widened(m, 4, 1), m.const(I8, [0])), I8, 1e-2)


def _outer_sum(m: Maker) -> Tensor:
    row = m.op("TRANSPOSE", _widened(m, 3, 1), perms=[1, 0])
    return m.rescale(m.op("ADD", row, _widened(m, 4, 1)), I8, 0.2)


def _read_otherwise(m: Maker, dtype: DType, make: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum of what an operator makes of an input, and the maximum of that input in another shape."""
    x = m.input(dtype, 1, 6, 8, 8)
    other = m.op("RESHAPE", x, m.graph.shape((1, 8, 6, 8)))
    return m.sum("ADD", make(x), m.pool("MAX_POOL2D", other, (8, 6), (1, 1), (0, 0, 0, 0)), 4)


def _two_views(m: Maker, dtype: DType, make: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum of the maximum of an input in one shape, and what an operator makes of it in another."""
    x = m.input(dtype, 1, 4, 12, 8)
    one, other = (m.op("RESHAPE", x, m.graph.shape(shape)) for shape in ((1, 6, 8, 8), (1, 12, 4, 8)))
    return m.sum("ADD", m.pool("MAX_POOL2D", other, (12, 4), (1, 1), (0, 0, 0, 0)), make(one), 4)


def _repeated_view(
    m: Maker, dtype: DType, combine: Callable[[Tensor, Tensor], Tensor], scale: float, *, summed: bool = False
) -> Tensor:
    """An operator of an input, or a sum, and a column, which repeats both, and maxima of the input as a matrix."""
    x, column = m.input(dtype, 1, 5, 1, 6), m.input(dtype, 1, 1, 5, 1)
    x = m.sum("ADD", x, m.input(dtype, 1, 5, 1, 6), 4) if summed else x
    matrix = m.op("RESHAPE", x, m.graph.shape((1, 1, 5, 6)))
    outer = m.rescale(combine(m.rescale(x, I32, 1.0), m.rescale(column, I32, 1.0)), dtype, scale)
    return m.sum("SUB", outer, m.pool("MAX_POOL2D", matrix, (1, 5), (1, 1), (0, 0, 0, 0)), 4)


def _choice_by_largest(m: Maker, dtype: DType) -> Tensor:
    """Of a row of numbers, the first is replaced, as the index of the largest of each one says: a scatter."""
    row = m.input(dtype, 1, 1, 1, 5)
    largest = m.op("ARGMAX", m.op("RESHAPE", row, m.graph.shape((1, 5, 1, 1))), axis=2, nan_mode="PROPAGATE")
    hit = m.op("EQUAL", m.const(I32, [[range(5)]]), m.op("RESHAPE", largest, m.graph.shape((1, 1, 5))))
    return m.op("SELECT", hit, m.const(dtype, [[[9]]]), m.op("RESHAPE", row, m.graph.shape((1, 1, 5))))


def _with_itself(m: Maker, name: str, dtype: DType, unit: float = 256.0, **attrs: str) -> Tensor:
    """A tensor and itself in another shape."""
    x = m.input(dtype, 1, 3, 8)
    other = m.op("RESHAPE", x, m.graph.shape((3, 1, 8)))
    met = m.op(name, m.rescale(x, I32, unit), m.rescale(other, I32, unit), **attrs)
    return m.rescale(met, dtype, (1.0 if attrs else 0.7) / unit)


def _minimum_read_otherwise(m: Maker, dtype: DType) -> Tensor:
    return _read_otherwise(m, dtype, lambda x: m.op("REDUCE_MIN", x, axis=2))


def _chosen_by(m: Maker, mask: Tensor, x: Tensor) -> Tensor:
    return m.op("SELECT", mask, x, m.const(x.dtype, [[[[-3]]]]))


def _mask(m: Maker) -> Tensor:
    return m.graph.constant(m.rng.integers(0, 2, (1, 1, 8, 8)).astype(bool), DType.BOOL)


def _choice_by_mask_read_otherwise(m: Maker) -> Tensor:
    mask = m.op("GREATER", m.input(I32, 1, 6, 4, 8), m.const(I32, [[[[1000]]]]))
    other = _chosen_by(m, m.op("RESHAPE", mask, m.graph.shape((1, 4, 6, 8))), m.input(I8, 1, 4, 6, 8))
    chosen = _chosen_by(m, mask, m.input(I8, 1, 6, 4, 8))
    return m.sum("ADD", chosen, m.pool("MAX_POOL2D", other, (4, 6), (1, 1), (0, 0, 0, 0)), 4)


def _maximum_of_rows(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", _widened(m, 3, 3, 4), axis=1)
    return m.op("REDUCE_MAX", m.rescale(m.op("RESHAPE", total, m.graph.shape((3, 4))), I8, 0.2), axis=1)


def _padded_wide(m: Maker, wide: Tensor, after: bool) -> Tensor:
    """PAD of a wide tensor, or of what a RESCALE makes of it."""
    x = wide if after else m.rescale(wide, I8, 1e-2)
    padded = m.op("PAD", x, m.graph.shape((0, 0, 1, 1)), m.const(wide.dtype if after else I8, [0]))
    return m.rescale(padded, I8, 1e-2) if after else padded


def _increased(m: Maker, *shape: int) -> Tensor:
    return m.op("ADD", _widened(m, *shape), m.const(I32, [[1]]))


def _shifted_sum(m: Maker) -> Tensor:
    x, y = (m.rescale(m.input(I8, 3, 4), I32, 2.0**19, zero_in=21) for _ in range(2))
    return m.rescale(m.op("SUB", x, y), I8, 2e-6, zero_out=12)


def _saturated_sum(m: Maker) -> Tensor:
    larger = m.op("MAXIMUM", _widened(m, 5, 4), _widened(m, 5, 4), nan_mode="PROPAGATE")
    wide = m.rescale(m.rescale(larger, I8, 3.0), I32, 1.0)
    return m.rescale(m.op("ADD", wide, m.const(I32, [[100]])), I8, 0.3)


def _enlarged_sum(m: Maker) -> Tensor:
    shapes = (m.graph.shape(v) for v in ((4, 2, 4, 2), (-1, -1), (1, 1)))
    large = m.op("RESIZE", m.input(I8, 1, 20, 3, 57), *shapes, mode="NEAREST_NEIGHBOR")
    return m.rescale(m.op("ADD", m.rescale(large, I32, 1.0), m.const(I32, [[[[1]]]])), I8, 0.9)


def _enlarged_joined(m: Maker) -> Tensor:
    shapes = (m.graph.shape(v) for v in ((8, 2, 8, 2), (-3, -3), (3, 3)))
    large = m.op("RESIZE", m.input(I8, 1, 3, 3, 21), *shapes, mode="NEAREST_NEIGHBOR")
    return m.op("CONCAT", large, m.input(I8, 1, 12, 12, 5), axis=3)


def _enlarged_to(m: Maker, dtype: DType, other: DType) -> Tensor:
    shapes = (m.graph.shape(v) for v in ((4, 2, 4, 2), (-1, -1), (1, 1)))
    return m.rescale(m.op("RESIZE", m.input(dtype, 1, 4, 5, 21), *shapes, mode="NEAREST_NEIGHBOR"), other, 1.0)


def _part(m: Maker, x: Tensor, *shape: int) -> Tensor:
    return m.op("SLICE", x, m.graph.shape((0, *(1 for _ in shape[1:]))), m.graph.shape(shape))


def _sum_of_slice(m: Maker, copies: int = 0) -> Tensor:
    part = _part(m, m.input(I8, 1, 6, 7, 12), 1, 5, 5, 9)
    for _ in range(copies):
        part = m.rescale(part, I8, 1.0)
    return m.rescale(m.op("REDUCE_SUM", m.rescale(part, I32, 1.0), axis=3), I8, 0.1)


def _padded_then_less(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 5, 6, 11), m.graph.shape((0, 0, 1, 1, 0, 2, 3, 1)), m.const(I8, [7]))
    return m.rescale(m.op("SUB", m.rescale(padded, I32, 1.0), m.random(I32, -9, 9, 1, 7, 8, 15)), I8, 0.3)


def _product_of_scales(m: Maker) -> Tensor:
    first = m.rescale(m.rescale(m.input(I8, *_SHAPE), I8, 1.7), I32, 1.0)
    return m.rescale(m.op("MUL", first, m.rescale(m.input(I8, *_SHAPE), I32, 2.0), m.const(I8, [0])), I8, 1e-2)


def _repeated_slice(m: Maker) -> Tensor:
    wide = m.rescale(m.input(I8, 1, 6, 10, 21), I32, 2.0)
    row = m.op("SLICE", wide, m.graph.shape((0, 0, 0, 0)), m.graph.shape((1, 1, 10, 21)))
    return m.rescale(m.op("ADD", m.rescale(m.input(I8, 1, 6, 1, 21), I32, 3.0), row), I8, 0.3)


def _repeated_part(m: Maker) -> Tensor:
    column = m.rescale(_part(m, m.input(I8, 1, 7, 3, 20), 1, 6, 1, 19), I32, 2.0**15)
    return m.rescale(m.op("ADD", column, m.rescale(m.input(I8, 1, 6, 8, 19), I32, 1.5 * 2.0**15)), I8, 1e-5)


def _shifted_part(m: Maker) -> Tensor:
    part = m.rescale(_part(m, m.input(I16, 1, 6, 8, 34), 1, 5, 6, 17), I32, 2.0)
    return m.op("ARITHMETIC_RIGHT_SHIFT", part, m.const(I32, [[[[7]]]]), round=True)


def _widened_part(m: Maker) -> Tensor:
    return m.op("CLZ", m.rescale(_part(m, m.input(I8, 1, 7, 9, 22), 1, 6, 8, 19), I32, 2.0))


def _widened_border(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 6, 8, 19), m.graph.shape((0, 0, 1, 1, 0, 2, 3, 0)), m.const(I8, [7]))
    return m.op("ABS", m.rescale(padded, I32, 2.0))


def _part_and_zero_point(m: Maker) -> Tensor:
    part = m.rescale(_part(m, m.input(I8, 1, 7, 9, 22), 1, 6, 8, 19), I32, 1.0, zero_in=5)
    return m.op("SUB", part, m.rescale(m.input(I8, 1, 6, 8, 19), I32, 2.0**19))


def _whole_scales(m: Maker) -> Tensor:
    x, y = m.rescale(m.input(I8, *_SHAPE), I32, 2.0), m.rescale(m.input(I8, *_SHAPE), I32, 3.0)
    return m.rescale(m.op("SUB", x, y), I8, 0.1)


def _made_smaller(m: Maker) -> Tensor:
    return m.bilinear(m.conv(m.input(I8, 1, 32, 28, 7), (1, 1), 11, scale=2e-2), (16, 14), half=True)


def _reversed_table(m: Maker) -> Tensor:
    table = m.op("TABLE", m.op("REVERSE", m.input(I8, 1, 6, 8, 33), axis=1), m.random(I8, -128, 128, 256))
    return m.op("TRANSPOSE", table, perms=[0, 2, 1, 3])


def _padded_table(m: Maker) -> Tensor:
    moved = m.op("TRANSPOSE", m.conv(m.input(I8, 1, 1, 5, 7), (1, 1), 2, scale=2e-2), perms=[0, 1, 3, 2])
    table = m.op("TABLE", moved, m.random(I8, -128, 128, 256))
    return m.op("PAD", table, m.graph.shape((0, 0, 1, 0, 1, 1, 0, 2)), m.const(I8, [-30]))


def _joined_twice(m: Maker) -> Tensor:
    joined = m.op("CONCAT", m.input(I8, 1, 6, 4, 21), m.input(I8, 1, 6, 6, 21), axis=2)
    narrow = m.rescale(m.rescale(joined, I32, 1.0), I8, 0.8)
    return m.op("PAD", narrow, m.graph.shape((0, 0, 1, 0, 0, 2, 1, 1)), m.const(I8, [5]))


def _padded_distance(m: Maker) -> Tensor:
    narrow = m.rescale(m.conv(m.rescale(m.input(I8, 1, 1, 1, 9), I8, 0.9), (1, 1), 1), I8, 1e-2)
    distance = m.op("ABS", m.rescale(narrow, I32, 1.0))
    return m.rescale(m.op("PAD", distance, m.graph.shape((0, 0, 0, 0, 0, 0, 2, 0)), m.const(I32, [0])), I8, 0.3)


def _joined_minima(m: Maker) -> Tensor:
    minima = (m.op("MINIMUM", _widened(m, 3, n), _widened(m, 3, n), nan_mode="PROPAGATE") for n in (4, 5))
    return m.op("CONCAT", *(m.rescale(x, I8, 0.9) for x in minima), axis=1)


def _window(m: Maker, axis: int, images: int, op: str, dtype: DType = I8, **attrs: Any) -> Tensor:
    """A convolution or pool of 3x3, with padding, of a part of what a convolution makes."""
    start, size = [0] * 4, [images, 5, 6, 7]
    start[axis] = 2
    whole = m.conv(m.input(dtype, *map(sum, zip(size, start, strict=True))), (1, 1), size[3] + start[3], scale=2e-2)
    part = m.op("SLICE", whole, m.graph.shape(start), m.graph.shape(size))
    if op.endswith("POOL2D"):
        return m.pool(op, part, (3, 3), (1, 1), (1, 1, 1, 1))
    return m.conv(part, (3, 3), 7, op=op, **{"pad": (1, 1, 1, 1), **attrs})


def _multiplied(m: Maker) -> Tensor:
    weights, bias = m.random(I8, -127, 128, 3, 3, 5, 2), m.random(I32, -4000, 4000, 10)
    attrs = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)}
    made = m.op("DEPTHWISE_CONV2D", m.input(I8, 1, 5, 6, 5), weights, bias, m.const(I8, [0]), m.const(I8, [0]), **attrs)
    return m.rescale(made, I8, 5e-3, channels=10)


def _joined_multiplied(m: Maker) -> Tensor:
    return m.op("CONCAT", m.input(I8, 1, 5, 6, 10), _multiplied(m), axis=1)


def _long_average(m: Maker, images: int) -> Tensor:
    return m.pool("AVG_POOL2D", m.input(I8, images, 9, 9, 5), (9, 9), (1, 1), (4, 4, 4, 4))


def _long_sum(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", m.rescale(m.input(I8, 65537, 1), I32, 1.0, zero_in=3), axis=0)
    return m.rescale(total, I8, 3e-4)


def _scattered(m: Maker) -> Tensor:
    places = m.const(I32, [m.rng.permutation(65536)])
    return m.op("SCATTER", m.input(I8, 1, 65536, 1), places, m.input(I8, 1, 65536, 1))


def _padded_with_0(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, *_SHAPE), m.graph.shape((0, 0, 1, 1, 1, 1, 0, 0)), m.const(I8, [0]))
    return m.conv(padded, (3, 3), 7, zero=3)


def _squeezed_part(m: Maker, start: tuple[int, ...], shape: tuple[int, ...], view: tuple[int, ...]) -> Tensor:
    whole = m.input(I8, *(size + 2 * at for size, at in zip(shape, start, strict=True)))
    part = m.op("SLICE", whole, m.graph.shape(start), m.graph.shape(shape))
    return m.rescale(m.op("RESHAPE", part, m.graph.shape(view)), I8, 0.8)


def _sliced_product(m: Maker) -> Tensor:
    product = m.op("MUL", m.input(I8, 4, 9), m.input(I8, 4, 9), m.const(I8, [0]))
    return m.rescale(m.op("SLICE", product, m.graph.shape((0, 0)), m.graph.shape((3, 4))), I8, 1e-2)


ROWS = {
    "narrowing cast, U55": Row(lambda m: m.op("CAST", m.input(I16, *_SHAPE), output_dtype=I8), "ethos-u55-128"),
    "narrowing cast, U85": Row(lambda m: m.op("CAST", m.input(I32, *_SHAPE), output_dtype=I8), "ethos-u85-256"),
    "left shift of 16 bits": Row(
        lambda m: m.op("LOGICAL_LEFT_SHIFT", m.input(I16, *_SHAPE), m.random(I16, 0, 15, *_SHAPE)),
        "ethos-u85-256",
    ),
    "choice between a map and a rescaled one": Row(_choice, "ethos-u85-256"),
    "SLICE, then maximum of one channel": Row(_maximum_of_a_channel, "ethos-u85-256"),
    "mask cast to 8 bits, then widened": Row(_weighted_mask, "ethos-u85-256"),
    "maximum of neighbours, then widened": Row(
        lambda m: m.rescale(m.pool("MAX_POOL2D", m.input(I8, *_SHAPE), (2, 2), (1, 1), (0, 0, 0, 0)), I16, 100.0),
        "ethos-u85-256",
    ),
    "CAST to 16 bits, then widened": Row(
        lambda m: m.rescale(m.op("CAST", m.input(I8, *_SHAPE), output_dtype=I16), I32, 9000.0), "ethos-u85-512"
    ),
    "square TRANSPOSE, then a pool": Row(
        lambda m: m.pool("MAX_POOL2D", _swapped(m, m.input(I8, 1, 16, 16, 45)), (2, 2), (1, 1), (0, 0, 0, 0)),
        "ethos-u55-128",
    ),
    "square TRANSPOSE, then RESCALE": Row(
        lambda m: m.rescale(_swapped(m, m.input(I8, 1, 6, 6, 8)), I8, 0.9), "ethos-u55-128"
    ),
    "square TRANSPOSE, then ADD": Row(_sum_of_swapped, "ethos-u55-128"),
    "TRANSPOSE of four axes, then PAD": Row(_padded_transpose, "ethos-u55-128"),
    "TRANSPOSE, RESHAPE, TRANSPOSE": Row(_twice_transposed, "ethos-u65-256"),
    "TRANSPOSE, RESHAPE, TRANSPOSE in steps": Row(_transposed_in_steps, "ethos-u55-128"),
    "TRANSPOSE, CLAMP, convolution": Row(_transposed_clamp, "ethos-u85-1024"),
    "outer product": Row(_outer_product, "ethos-u55-128"),
    "outer sum of a transposed row": Row(_outer_sum, "ethos-u65-256"),
    "absolute values, then PAD": Row(
        lambda m: _padded_wide(m, m.op("ABS", _increased(m, 3, 4)), False), "ethos-u85-256"
    ),
    "RESCALE to INT32, then CONCAT": Row(
        lambda m: m.op("CONCAT", _widened(m, 3, 4), _widened(m, 3, 5), axis=1), "ethos-u65-512"
    ),
    "RESCALE to INT32, then PAD and RESCALE": Row(lambda m: _padded_wide(m, _widened(m, 3, 4), True), "ethos-u55-32"),
    "PAD of INT32, then RESCALE": Row(lambda m: _padded_wide(m, m.input(I32, 3, 4), True), "ethos-u55-64"),
    "RESCALE of INT32, then PAD": Row(lambda m: _padded_wide(m, m.input(I32, 3, 4), False), "ethos-u55-256"),
    "plus 1, then PAD": Row(lambda m: _padded_wide(m, _increased(m, 3, 4), False), "ethos-u55-128"),
    "sum of two scales, then PAD": Row(
        lambda m: m.op("PAD", _shifted_sum(m), m.graph.shape((1, 0, 1, 1)), m.const(I8, [0])), "ethos-u65-512"
    ),
    "saturated, then widened": Row(_saturated_sum, "ethos-u55-128"),
    "enlarged, then widened": Row(_enlarged_sum, "ethos-u55-128"),
    "enlarged by 4, then CONCAT": Row(_enlarged_joined, "ethos-u65-512"),
    "enlarged by 2, then to 16 bits": Row(lambda m: _enlarged_to(m, I8, I16), "ethos-u55-128"),
    "enlarged by 2, then to 8 bits": Row(lambda m: _enlarged_to(m, I16, I8), "ethos-u65-512"),
    "SLICE, widened, then a sum, U55": Row(_sum_of_slice, "ethos-u55-256"),
    "SLICE, widened, then a sum, U85": Row(_sum_of_slice, "ethos-u85-256"),
    "SLICE, RESCALE by 1, then a sum": Row(lambda m: _sum_of_slice(m, copies=1), "ethos-u65-512"),
    "PAD, then widened": Row(_padded_then_less, "ethos-u65-512"),
    "RESCALE, then widened": Row(lambda m: m.rescale(m.rescale(m.input(I8, 5, 4), I8, 3.0), I32, 1.0), "ethos-u55-32"),
    "CONCAT, widened, RESCALE, PAD": Row(_joined_twice, "ethos-u85-512"),
    "sum of a scale of 1 and one of 2": Row(
        lambda m: m.rescale(m.op("ADD", _widened(m, *_SHAPE), m.rescale(m.input(I8, *_SHAPE), I32, 2.0)), I8, 0.3),
        "ethos-u55-128",
    ),
    "product of a scale of 1 and one of 2": Row(_product_of_scales, "ethos-u65-256"),
    "REVERSE, TABLE, TRANSPOSE": Row(_reversed_table, "ethos-u85-128"),
    "TRANSPOSE, TABLE, PAD": Row(_padded_table, "ethos-u65-512"),
    "convolution, then made smaller": Row(_made_smaller, "ethos-u85-256"),
    "SLICE, widened, then repeated": Row(_repeated_part, "ethos-u65-256"),
    "SLICE, widened, then shifted": Row(_shifted_part, "ethos-u55-128"),
    "SLICE, widened": Row(_widened_part, "ethos-u55-128"),
    "TILE, widened": Row(lambda m: m.op("ABS", _tiled(m, I8, 2.0, I32)), "ethos-u55-128"),
    "PAD, widened": Row(_widened_border, "ethos-u55-256"),
    "SLICE, widened from a zero point": Row(_part_and_zero_point, "ethos-u65-512"),
    "difference of scales of 2 and 3": Row(_whole_scales, "ethos-u55-256"),
    "SLICE of INT32 that is repeated": Row(_repeated_slice, "ethos-u85-256"),
    "RESCALE, ABS, PAD of INT32": Row(_padded_distance, "ethos-u85-1024"),
    "two minima, then CONCAT": Row(_joined_minima, "ethos-u55-128"),
    "CONCAT of INT32, then RESCALE": Row(
        lambda m: m.rescale(m.op("CONCAT", m.input(I32, 3, 4), m.input(I32, 3, 5), axis=1), I8, 1e-2), "ethos-u55-256"
    ),
    "CONCAT of INT32, RESHAPE, then RESCALE": Row(_joined_reshaped, "ethos-u55-128"),
    "SLICE of INT32, then RESCALE": Row(_sliced_product, "ethos-u55-128"),
    "RESCALE, then unsigned": Row(
        lambda m: m.rescale(m.rescale(m.input(I8, *_SHAPE), I8, 1.7), U8, 1.0, zero_out=128), "ethos-u65-256"
    ),
    "maximum along an axis, then unsigned": Row(
        lambda m: m.rescale(m.op("REDUCE_MAX", m.input(I8, *_SHAPE), axis=3), U8, 1.0, zero_out=128), "ethos-u85-256"
    ),
    "difference, RESHAPE, then unsigned": Row(_unsigned_difference, "ethos-u55-128"),
    "TILE of INT32, then RESCALE": Row(lambda m: _tiled(m, I32, 1e-2), "ethos-u65-256"),
    "CONCAT, RESCALE, then CONCAT": Row(_joined_again, "ethos-u85-256"),
    "PAD, RESCALE, then CONCAT": Row(_padded_again, "ethos-u55-256"),
    "TILE, RESCALE, then CONCAT": Row(
        lambda m: m.op("CONCAT", m.input(I8, 1, 4, 1, 7), _tiled(m, I8, 0.9), axis=2), "ethos-u55-128"
    ),
    "TILE, RESCALE, then PAD": Row(
        lambda m: m.op("PAD", _tiled(m, I8, 0.9), m.graph.shape((0, 0, 0, 1, 2, 0, 0, 0)), m.const(I8, [4])),
        "ethos-u85-256",
    ),
    "shift without rounding": Row(
        lambda m: m.op("ARITHMETIC_RIGHT_SHIFT", m.input(I32, *_SHAPE), m.random(I32, 0, 31, *_SHAPE), round=False),
        "ethos-u55-128",
    ),
    "nearest neighbour, unequal factors": Row(_resize, "ethos-u65-256"),
    "equal weights, other biases": Row(lambda m: _tied(m, "CONV2D", I8), "ethos-u55-128"),
    "equal weights of INT16, other biases": Row(lambda m: _tied(m, "CONV2D", I16), "ethos-u65-256"),
    "results behind the last window of two transposed convolutions": Row(_two_with_out_pad, "ethos-u55-128"),
    "equal weights by channel, other biases": Row(lambda m: _tied(m, "DEPTHWISE_CONV2D", I8), "ethos-u85-256"),
    "matrix of 65537 rows": Row(_matmul, "ethos-u55-128", True),
    "transposed convolution, 65537 rows": Row(
        lambda m: m.conv(m.input(I8, 1, 32768, 1, 2), (3, 1), 3, op="TRANSPOSE_CONV2D", stride=(2, 1)), "ethos-u65-256"
    ),
    "transposed convolution, then CONCAT": Row(
        lambda m: m.op("CONCAT", m.input(I8, 1, 11, 13, 9), _transpose_conv(m), axis=3), "ethos-u55-128"
    ),
    "transposed convolution, then PAD": Row(_pad, "ethos-u65-512"),
    "matrix product, then CONCAT": Row(_concat_product, "ethos-u55-128"),
    "maximum of channels, then CONCAT, U55": Row(_concat_maximum, "ethos-u55-128"),
    "maximum of channels, then CONCAT, U85": Row(_concat_maximum, "ethos-u85-256"),
    "SLICE, then maximum": Row(_maximum_of_slice, "ethos-u55-256"),
    "SLICE, then transposed convolution, U55": Row(_transpose_conv_of_slice, "ethos-u55-256"),
    "SLICE, then transposed convolution, U85": Row(_transpose_conv_of_slice, "ethos-u85-128"),
    "images of a batch, then a convolution with padding": Row(lambda m: _window(m, 0, 2, "CONV2D"), "ethos-u55-128"),
    "rows of two images, then a depthwise convolution with padding": Row(
        lambda m: _window(m, 1, 2, "DEPTHWISE_CONV2D", I16), "ethos-u65-256"
    ),
    "columns of three images, then a pool with padding": Row(lambda m: _window(m, 2, 3, "MAX_POOL2D"), "ethos-u85-256"),
    "channels of two images, then an average with padding": Row(
        lambda m: _window(m, 3, 2, "AVG_POOL2D"), "ethos-u55-256"
    ),
    "channels, then a convolution dilated by 3 with padding": Row(
        lambda m: _window(m, 3, 1, "CONV2D", pad=(3, 3, 3, 3), dilation=(3, 3)), "ethos-u65-512"
    ),
    "rows, then a convolution dilated by 3": Row(
        lambda m: _window(m, 1, 1, "CONV2D", I16, pad=(1, 1, 0, 0), dilation=(3, 1)), "ethos-u85-128"
    ),
    "part of two images seen as one": Row(
        lambda m: _squeezed_part(m, (0, 0, 0, 1), (2, 5, 6, 7), (1, 2, 5, 6, 7)), "ethos-u55-128"
    ),
    "images of one batch": Row(
        lambda m: _squeezed_part(m, (0, 2, 0, 0, 0), (1, 2, 5, 6, 7), (2, 5, 6, 7)), "ethos-u85-256"
    ),
    "images of one of three batches": Row(
        lambda m: _squeezed_part(m, (1, 2, 0, 0, 1), (1, 2, 5, 6, 7), (2, 5, 6, 7)), "ethos-u85-512"
    ),
    "PAD with 0, then a convolution with a zero point": Row(_padded_with_0, "ethos-u55-128"),
    "PAD with 0, then a convolution with a zero point, U85": Row(_padded_with_0, "ethos-u85-256"),
    "multiplied depthwise convolution, then CONCAT, U55": Row(_joined_multiplied, "ethos-u55-128"),
    "multiplied depthwise convolution, then CONCAT, U85": Row(_joined_multiplied, "ethos-u85-256"),
    "multiplied depthwise convolution, then TABLE": Row(
        lambda m: m.op("TABLE", _multiplied(m), m.random(I8, -128, 128, 256)), "ethos-u55-32"
    ),
    "sum of 65537": Row(_long_sum, "ethos-u85-256"),
    "65536 indices": Row(
        lambda m: m.op("GATHER", m.input(I8, 1, 10, 1), m.random(I32, 0, 10, 1, 65536)), "ethos-u85-256"
    ),
    "65536 places": Row(_scattered, "ethos-u85-512"),
    "average of 9x9 with padding, then CONCAT": Row(
        lambda m: m.op("CONCAT", m.input(I8, 1, 9, 9, 5), _long_average(m, 1), axis=1), "ethos-u85-256"
    ),
    "average of 9x9 with padding, two images": Row(lambda m: _long_average(m, 2), "ethos-u85-256", refused=True),
    "SLICE, then ARGMAX": Row(
        lambda m: m.op("ARGMAX", _part(m, m.input(I8, 1, 6, 7, 9), 1, 5, 6, 7), axis=2), "ethos-u85-256"
    ),
    "SLICE, then CONV3D": Row(_conv3d_of_slice, "ethos-u85-256"),
    "SLICE, then MATMUL": Row(_product_of_slice, "ethos-u65-512"),
    "two INT16 tables": Row(_two_tables, "ethos-u85-128"),
    "sum, then maximum": Row(_maximum_of_sum, "ethos-u55-256"),
    "sum, then maximum, U85": Row(_maximum_of_rows, "ethos-u85-256"),
    "minimum of rows, then RESHAPE": Row(
        lambda m: m.op("RESHAPE", m.op("REDUCE_MIN", m.input(I8, 5, 6, 7), axis=1), m.graph.shape((5, 7))),
        "ethos-u55-256",
    ),
    "minimum of columns, then TRANSPOSE": Row(
        lambda m: m.op("TRANSPOSE", m.op("REDUCE_MIN", m.input(I16, 1, 5, 6, 7), axis=2), perms=[0, 2, 1, 3]),
        "ethos-u65-512",
    ),
    "minimum of what is read in another shape": Row(lambda m: _minimum_read_otherwise(m, I8), "ethos-u55-128"),
    "minimum of what is read in another shape, U65": Row(lambda m: _minimum_read_otherwise(m, I16), "ethos-u65-256"),
    "minimum of one of two views": Row(
        lambda m: _two_views(m, I16, lambda x: m.op("REDUCE_MIN", x, axis=2)), "ethos-u65-512"
    ),
    "outer sum of one of two views": Row(
        lambda m: _repeated_view(m, I8, lambda x, y: m.op("ADD", x, y), 0.3), "ethos-u55-128"
    ),
    "outer difference of one of two views of a sum": Row(
        lambda m: _repeated_view(m, I8, lambda x, y: m.op("SUB", x, y), 0.3, summed=True), "ethos-u55-128"
    ),
    "outer product of one of two views": Row(
        lambda m: _repeated_view(m, I16, lambda x, y: m.op("MUL", x, y, m.const(I8, [0])), 1e-4), "ethos-u65-256"
    ),
    "sum of a tensor and itself in another shape": Row(lambda m: _with_itself(m, "ADD", I8), "ethos-u55-128"),
    "difference of a tensor and itself in another shape": Row(lambda m: _with_itself(m, "SUB", I16), "ethos-u65-256"),
    "maximum of a tensor and itself in another shape": Row(
        lambda m: _with_itself(m, "MAXIMUM", I8, 1.0, nan_mode="PROPAGATE"), "ethos-u55-64"
    ),
    "choice from what is read in another shape": Row(
        lambda m: _read_otherwise(m, I8, lambda x: _chosen_by(m, _mask(m), x)), "ethos-u85-256"
    ),
    "choice from one of two views": Row(
        lambda m: _two_views(m, I8, lambda x: _chosen_by(m, _mask(m), x)), "ethos-u85-512"
    ),
    "choice from one of two views, by the other": Row(lambda m: _choice_by_largest(m, I16), "ethos-u85-256"),
    "choice by what is read in another shape": Row(_choice_by_mask_read_otherwise, "ethos-u85-128"),
    "CAST, RESCALE by 1 back, then a wider type": Row(
        lambda m: m.rescale(
            m.rescale(m.rescale(m.op("CAST", m.input(I16, 2, 5), output_dtype=I32), I16, 1.0), I32, 2.0**14),
            I16,
            2.0**-15,
        ),
        "ethos-u85-256",
    ),
    "PAD of channels, then a RESCALE of each, U65": Row(_rescale_padded, "ethos-u65-256"),
    "TILE of channels, then a RESCALE of each, U65": Row(_rescale_tiled, "ethos-u65-512"),
    "TILE of channels, then a RESCALE of each, U85": Row(_rescale_tiled, "ethos-u85-128"),
    "PAD of channels, then a RESCALE of each, U85": Row(_rescale_padded, "ethos-u85-512"),
    "transposed table": Row(_transposed_table, "ethos-u55-32"),
    "transposed, reshaped table": Row(_transposed_reshaped_table, "ethos-u55-32"),
    "convolution with 128 columns of padding on the left": Row(
        lambda m: m.conv(m.input(I8, 1, 1, 300, 4), (1, 401), 4, pad=(0, 0, 128, 200), zero=5), "ethos-u55-128"
    ),
    "convolution with 256 columns of padding on the right": Row(
        lambda m: m.conv(m.input(I8, 1, 1, 300, 4), (1, 401), 4, pad=(0, 0, 100, 256), zero=5), "ethos-u65-256"
    ),
    "pool with 128 rows of padding at the top": Row(lambda m: _padded_pool(m, (128, 0, 0, 0)), "ethos-u55-128"),
    "pool with 256 rows of padding at the bottom": Row(lambda m: _padded_pool(m, (0, 256, 0, 0)), "ethos-u85-256"),
    "window of 257 rows behind a PAD": Row(lambda m: _tall(m, "PAD"), "ethos-u55-128"),
    "window of 257 rows behind a CONCAT": Row(lambda m: _tall(m, "CONCAT"), "ethos-u65-256"),
    "window of 224 rows behind a PAD": Row(lambda m: _tall(m, "PAD", 224), "ethos-u85-256"),
    "average of 128 columns of padding on the left": Row(
        lambda m: _padded_average(m, (0, 0, 128, 0)), "ethos-u85-256", refused=True
    ),
    "average of 256 columns of padding on the right": Row(
        lambda m: _padded_average(m, (0, 0, 0, 256)), "ethos-u85-256", refused=True
    ),
    "two RESCALEs of an INT48 accumulator": Row(
        lambda m: _two_rescales(m, I32, 1.0, I16, 3e-3), "ethos-u85-256", off=1
    ),
    "one element before a tensor of five axes": Row(
        lambda m: m.op("SUB", m.input(I32, 1, 1, 1, 1, 1), m.input(I32, 2, 1, 3, 4, 5)), "ethos-u55-128"
    ),
    "one element times a tensor of six axes": Row(
        lambda m: m.sum("MAXIMUM", m.input(I8, *(1,) * 6), m.input(I8, 1, 2, 1, 3, 4, 1), 9), "ethos-u65-256"
    ),
    "two RESCALEs of an INT48 accumulator to INT32": Row(
        lambda m: _two_rescales(m, I32, 1.0, I32, 0.37), "ethos-u85-256"
    ),
}  # fmt: skip

#: What resembles a difference, and is right: ``arm_ethosu`` must leave its results as they are.
EXACT: dict[str, Make] = {
    "convolution that saturates, then a sum": lambda m: m.sum(
        "ADD", m.conv(m.input(I16, 1, 5, 1, 8), (1, 1), 8, scale=5e-3), m.input(I16, 1, 5, 1, 8), 14
    ),
    "convolution with 127 and 255 columns of padding": lambda m: m.conv(
        m.input(I8, 1, 1, 300, 4), (1, 401), 4, pad=(0, 0, 127, 255), zero=5
    ),
    "pool with 127 and 255 rows of padding": lambda m: _padded_pool(m, (127, 255, 0, 0)),
    "distance from the largest of few scores": _scores,
    "INT16 TABLE of a distance of 8 bits": _table_of_distance,
    "sum that two RESCALEs read": _sum_read_twice,
    "INT16 between two RESCALEs": lambda m: _two_rescales(m, I16, 1e-2, I16, 0.7),
    "INT8 between two RESCALEs": lambda m: _two_rescales(m, I8, 1e-4, I16, 2.5),
    "INT32, rounded, between two RESCALEs": lambda m: _two_rescales(m, I32, 1e-3, I16, 2.5),
    "INT32, rounded, between two RESCALEs to INT32": lambda m: _two_rescales(m, I32, 1e-3, I32, 100.5),
    "INT32, rounded, between two RESCALEs of 16 bits": lambda m: _two_rescales(m, I32, 1e-3, I16, 5.0, wide=False),
}
