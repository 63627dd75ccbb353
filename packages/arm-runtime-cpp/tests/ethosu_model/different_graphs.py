"""Graphs that Vela compiles to something else than what TOSA says, for the rows of ``differences``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graphs import I8, I16, I32, I48, U8, Maker

from arm_tosa_core.tosa.ir import DType, Tensor

SHAPE = (1, 5, 6, 19)


def unsigned_difference(m: Maker) -> Tensor:
    difference = m.op("SUB", m.rescale(m.input(I8, 4, 6), I32, 256.0), m.rescale(m.input(I8, 4, 6), I32, 99.0))
    flat = m.op("RESHAPE", m.rescale(difference, I8, 1 / 256), m.graph.shape((24,)))
    return m.rescale(flat, U8, 1.0, zero_out=128)


def joined_reshaped(m: Maker) -> Tensor:
    joined = m.op("CONCAT", m.input(I32, 3, 4), m.input(I32, 3, 5), axis=1)
    return m.rescale(m.op("RESHAPE", joined, m.graph.shape((9, 3))), I8, 1e-2)


def joined_again(m: Maker) -> Tensor:
    joined = m.op("CONCAT", m.input(I8, 1, 4, 3, 7), m.input(I8, 1, 4, 3, 5), axis=3)
    return m.op("CONCAT", m.rescale(joined, I8, 0.9), m.input(I8, 1, 4, 3, 3), axis=3)


def padded_again(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 4, 3, 7), m.graph.shape((0, 0, 0, 1, 0, 2, 1, 0)), m.const(I8, [7]))
    return m.op("CONCAT", m.input(I8, 1, 3, 5, 8), m.rescale(padded, I8, 0.9), axis=1)


def tiled(m: Maker, dtype: DType, scale: float, to: DType = I8) -> Tensor:
    return m.rescale(m.op("TILE", m.input(dtype, 1, 4, 3, 7), m.graph.shape((1, 1, 2, 1))), to, scale)


def resize(m: Maker) -> Tensor:
    shapes = [m.graph.shape(values) for values in ((4, 2, 8, 2), (-1, -3), (1, 3))]
    return m.op("RESIZE", m.input(I8, 1, 4, 4, 8), *shapes, mode="NEAREST_NEIGHBOR")


def transpose_conv(m: Maker) -> Tensor:
    return m.conv(m.input(I8, 1, 5, 6, 12), (3, 3), 14, op="TRANSPOSE_CONV2D", stride=(2, 2))


def two_rescales(
    m: Maker, dtype: DType, first: float, to: DType, second: float, *, wide: bool = True
) -> Tensor:  # fmt: skip
    """A convolution to INT48, rescaled to ``dtype`` and again."""
    weights, bias = m.random(I8, -127, 128, 5, 1, 1, 7), m.const(I48, [0] * 5)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    conv = m.op("CONV2D", m.input(I16, 1, 5, 6, 7), weights, bias, m.const(I16, [0]), m.const(I8, [0]), **attrs)
    rescaled = m.rescale(conv, dtype, first, wide=False)
    return m.rescale(rescaled, to, second, channels=5, wide=wide)


def transposed_table(m: Maker) -> Tensor:
    return m.op("TABLE", m.op("TRANSPOSE", m.input(I8, *SHAPE), perms=[0, 3, 1, 2]), m.random(I8, -128, 128, 256))


def transposed_reshaped_table(m: Maker) -> Tensor:
    moved = m.op("TRANSPOSE", m.input(I8, 1, 8, 8, 16), perms=[0, 3, 1, 2])
    return m.op("TABLE", m.op("RESHAPE", moved, m.graph.shape((1, 8, 16, 8))), m.random(I8, -128, 128, 256))


def two_with_out_pad(m: Maker) -> Tensor:
    """Two transposed convolutions of equal scales, whose last row and column have the bias alone."""
    x, made = m.input(I8, 1, 3, 4, 5), []
    for _ in range(2):
        weights, bias = m.random(I8, -127, 128, 6, 3, 3, 5), m.random(I32, -9000, 9000, 6)
        operands, attrs = (weights, bias, *[m.const(I8, [0])] * 2), {"out_pad": (0, 1, 0, 1), "stride": (2, 2)}
        made.append(m.rescale(m.op("TRANSPOSE_CONV2D", x, *operands, **attrs), I8, 5e-3))
    return m.sum("ADD", *made, 19)


def tied(m: Maker, op: str, dtype: DType) -> Tensor:
    """Three convolutions of one image with the same weights and scales, and other biases."""
    x, results = m.input(dtype, 1, 4, 5, 2), []
    shape = (1, 1, 2, 1) if op == "DEPTHWISE_CONV2D" else (2, 1, 1, 2)
    attrs = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    for i in range(3):
        bias = m.const(I32 if dtype is I8 else I48, [3000 * i - 4000, 2000 * i])
        weights, zeros = m.const(I8, np.resize([90, -127, 127], shape)), [m.const(dtype, [0]), m.const(I8, [0])]
        results.append(m.rescale(m.op(op, x, weights, bias, *zeros, **attrs), dtype, 3e-3, wide=dtype is I8))
    return m.op("CONCAT", *results, axis=3)


def matmul(m: Maker) -> Tensor:
    return m.op("MATMUL", m.input(I8, 1, 65537, 2), m.input(I8, 1, 2, 1), m.const(I8, [0]), m.const(I8, [0]))


def padded(m: Maker) -> Tensor:
    return m.op("PAD", transpose_conv(m), m.graph.shape((0, 0, 1, 1, 2, 2, 3, 0)), m.const(I8, [4]))


def concat_product(m: Maker) -> Tensor:
    product = m.op("RESHAPE", m.matmul(m.input(I8, 5, 6, 7), m.input(I8, 5, 7, 8)), m.graph.shape((1, 5, 6, 8)))
    return m.op("CONCAT", m.input(I8, 1, 5, 6, 3), product, axis=3)


def concat_maximum(m: Maker) -> Tensor:
    return m.op("CONCAT", m.input(I8, 1, 5, 6, 3), m.op("REDUCE_MAX", m.input(I8, 1, 5, 6, 7), axis=3), axis=3)


def maximum_of_slice(m: Maker) -> Tensor:
    part = m.op("SLICE", m.input(I8, 1, 5, 6, 7), m.graph.shape((0, 1, 1, 1)), m.graph.shape((1, 2, 3, 4)))
    return m.op("REDUCE_MAX", part, axis=3)


def transpose_conv_of_slice(m: Maker) -> Tensor:
    x = m.sum("ADD", m.input(I8, 1, 5, 6, 7), m.input(I8, 1, 5, 6, 7), 19)
    part = m.op("SLICE", x, m.graph.shape((0, 1, 1, 1)), m.graph.shape((1, 2, 3, 4)))
    return m.conv(part, (3, 3), 5, op="TRANSPOSE_CONV2D", stride=(2, 2))


def conv3d_of_slice(m: Maker) -> Tensor:
    part = m.op("SLICE", m.input(I8, 1, 2, 1, 1, 2), m.graph.shape((0, 0, 0, 0, 1)), m.graph.shape((1, 2, 1, 1, 1)))
    return m.conv(part, (2, 1, 1), 1, op="CONV3D")


def product_of_slice(m: Maker) -> Tensor:
    x = m.sum("ADD", m.input(I8, 1, 1, 1, 9), m.input(I8, 1, 1, 1, 9), 19)
    part = m.op("SLICE", x, m.graph.shape((0, 0, 0, 1)), m.graph.shape((1, 1, 1, 4)))
    return m.matmul(m.op("RESHAPE", part, m.graph.shape((1, 1, 4))), m.input(I8, 1, 4, 8))


def two_tables(m: Maker) -> Tensor:
    def table(x: Tensor) -> Tensor:
        points = np.clip(np.cumsum(m.rng.integers(-120, 121, 513)), -32768, 32767)
        return m.rescale(m.op("TABLE", x, m.const(I16, points)), I16, 2.0**-7)

    first = table(m.input(I16, *SHAPE))
    return table(m.rescale(m.op("MUL", first, m.input(I16, *SHAPE), m.const(I8, [0])), I16, 3e-5))


def distance_from_largest(m: Maker, x: Tensor, to_channels: bool) -> Tensor:
    """From the largest channel, as in a softmax, or from what has the place of it."""
    most = m.op("REDUCE_MAX", x, axis=x.rank - 1) if to_channels else m.input(I8, *x.shape)
    return m.rescale(m.op("SUB", m.rescale(x, I32, 1.0), m.rescale(most, I32, 1.0)), I8, 1.0, zero_out=127)


def scores(m: Maker) -> Tensor:
    row = m.conv(m.input(I8, 1, 1, 1, 24), (1, 1), 32, scale=1e-3)
    return distance_from_largest(m, m.op("RESHAPE", row, m.graph.shape((1, 32))), True)


def table_of_distance(m: Maker) -> Tensor:
    steps = m.rescale(distance_from_largest(m, m.input(I8, *SHAPE), False), I16, 128.0, zero_in=127)
    return m.rescale(m.op("TABLE", steps, m.const(I16, np.arange(513) * 60 - 15000)), I16, 2.0**-7)


def sum_read_twice(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", m.rescale(m.input(I8, *SHAPE), I32, 1.0), axis=2)
    parts = [m.rescale(m.rescale(total, to, scale, zero_out=zero), I32, 1.0, zero_in=zero)
             for to, scale, zero in ((I8, 0.31, 3), (I16, 41.7, 0))]  # fmt: skip
    return m.rescale(m.op("MUL", *parts, m.const(I8, [0])), I16, 1e-2)


def maximum_of_sum(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", m.rescale(m.input(I8, 1, 5, 6, 7), I32, 1.0), axis=2)
    return m.op("REDUCE_MAX", m.rescale(total, I8, 0.2), axis=3)


def rescale_padded(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 3, 3, 4), m.graph.shape((0, 0, 0, 0, 0, 0, 2, 2)), m.const(I8, [100]))
    return m.rescale(padded, I8, 0.8, channels=8)


def rescale_tiled(m: Maker) -> Tensor:
    return m.rescale(m.op("TILE", m.input(I16, 1, 4, 3, 4), m.graph.shape((1, 1, 1, 2))), I16, 0.8, channels=8)


def padded_pool(m: Maker, pad: tuple[int, ...]) -> Tensor:
    return m.pool("MAX_POOL2D", m.input(I8, 1, 300, 2, 4), (257, 1), (1, 1), pad)


def tall(m: Maker, name: str, rows: int = 257) -> Tensor:
    x, more = m.input(I8, 1, 300, 2, 4), m.graph.shape((0, 0, 0, 256, 0, 0, 0, 0))
    if name == "PAD":
        x = m.op("PAD", x, more, m.const(I8, [3]))
    else:
        x = m.op("CONCAT", x, m.input(I8, 1, 256, 2, 4), axis=1)
    return m.conv(x, (rows, 1), 4)


def padded_average(m: Maker, pad: tuple[int, ...]) -> Tensor:
    return m.pool("AVG_POOL2D", m.input(I8, 1, 1, 300, 4), (1, 257), (1, 1), pad)


def choice(m: Maker) -> Tensor:
    x, y = m.input(I16, *SHAPE), m.input(I16, *SHAPE)
    larger = m.op("GREATER", m.rescale(x, I32, 2.0**14), m.rescale(y, I32, 0.9 * 2.0**14))
    return m.op("SELECT", larger, x, m.rescale(y, I16, 0.5))


def swapped(m: Maker, x: Tensor) -> Tensor:
    return m.op("TRANSPOSE", x, perms=[0, 2, 1, 3])


def sum_of_swapped(m: Maker) -> Tensor:
    return m.sum("ADD", swapped(m, m.input(I8, 1, 12, 12, 64)), m.input(I8, 1, 12, 12, 64), 19)


def padded_transpose(m: Maker) -> Tensor:
    moved = m.op("TRANSPOSE", m.input(I8, 8, 8, 8, 4), perms=[1, 3, 2, 0])
    padding = m.graph.shape((0, 0, 0, 0, 0, 0, 0, 1))
    return m.op("PAD", m.op("RESHAPE", moved, m.graph.shape((8, 8, 8, 4))), padding, m.const(I8, [3]))


def twice_transposed(m: Maker) -> Tensor:
    return swapped(m, m.op("RESHAPE", swapped(m, m.input(I8, 1, 2, 10, 45)), m.graph.shape((1, 2, 10, 45))))


def transposed_in_steps(m: Maker) -> Tensor:
    first = m.op("TRANSPOSE", m.input(I8, 1, 2, 5, 5, 2, 9), perms=[0, 1, 2, 4, 3, 5])
    return m.op("TRANSPOSE", m.op("RESHAPE", first, m.graph.shape((2, 10, 5, 9))), perms=[1, 2, 3, 0])


def transposed_clamp(m: Maker) -> Tensor:
    transposed = m.op("TRANSPOSE", m.input(I8, 1, 5, 7, 59), perms=[0, 3, 2, 1])
    clamped = m.op("CLAMP", transposed, min_val=np.int8(-50), max_val=np.int8(50), nan_mode="PROPAGATE")
    return m.conv(clamped, (7, 2), 1, stride=(2, 2), dilation=(2, 2))


def weighted_mask(m: Maker) -> Tensor:
    x, y = (m.rescale(m.input(I16, 3, 9), I32, 1.0) for _ in range(2))
    mask = m.op("RESHAPE", m.op("CAST", m.op("GREATER_EQUAL", x, y), output_dtype=I8), m.graph.shape((1, 27)))
    return m.rescale(mask, I16, 9830.0)


def maximum_of_a_channel(m: Maker) -> Tensor:
    part = m.op("SLICE", m.input(I8, 1, 1, 1, 7), m.graph.shape((0, 0, 0, 2)), m.graph.shape((1, 1, 1, 1)))
    return m.op("REDUCE_MAX", part, axis=3)


def widened(m: Maker, *shape: int) -> Tensor:
    return m.rescale(m.input(I8, *shape), I32, 1.0)


def outer_product(m: Maker) -> Tensor:
    row = m.op("RESHAPE", widened(m, 3, 1), m.graph.shape((1, 3)))
    return m.rescale(m.op("MUL", row, widened(m, 4, 1), m.const(I8, [0])), I8, 1e-2)


def outer_sum(m: Maker) -> Tensor:
    row = m.op("TRANSPOSE", widened(m, 3, 1), perms=[1, 0])
    return m.rescale(m.op("ADD", row, widened(m, 4, 1)), I8, 0.2)


def read_otherwise(m: Maker, dtype: DType, make: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum of what an operator makes of an input, and the maximum of that input in another shape."""
    x = m.input(dtype, 1, 6, 8, 8)
    other = m.op("RESHAPE", x, m.graph.shape((1, 8, 6, 8)))
    return m.sum("ADD", make(x), m.pool("MAX_POOL2D", other, (8, 6), (1, 1), (0, 0, 0, 0)), 4)


def two_views(m: Maker, dtype: DType, make: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum of the maximum of an input in one shape, and what an operator makes of it in another."""
    x = m.input(dtype, 1, 4, 12, 8)
    one, other = (m.op("RESHAPE", x, m.graph.shape(shape)) for shape in ((1, 6, 8, 8), (1, 12, 4, 8)))
    return m.sum("ADD", m.pool("MAX_POOL2D", other, (12, 4), (1, 1), (0, 0, 0, 0)), make(one), 4)


def repeated_view(
    m: Maker, dtype: DType, combine: Callable[[Tensor, Tensor], Tensor], scale: float, *, summed: bool = False
) -> Tensor:
    """An operator of an input, or a sum, and a column, which repeats both, and maxima of the input as a matrix."""
    x, column = m.input(dtype, 1, 5, 1, 6), m.input(dtype, 1, 1, 5, 1)
    x = m.sum("ADD", x, m.input(dtype, 1, 5, 1, 6), 4) if summed else x
    matrix = m.op("RESHAPE", x, m.graph.shape((1, 1, 5, 6)))
    outer = m.rescale(combine(m.rescale(x, I32, 1.0), m.rescale(column, I32, 1.0)), dtype, scale)
    return m.sum("SUB", outer, m.pool("MAX_POOL2D", matrix, (1, 5), (1, 1), (0, 0, 0, 0)), 4)


def choice_by_largest(m: Maker, dtype: DType) -> Tensor:
    """Of a row of numbers, the first is replaced, as the index of the largest of each one says: a scatter."""
    row = m.input(dtype, 1, 1, 1, 5)
    largest = m.op("ARGMAX", m.op("RESHAPE", row, m.graph.shape((1, 5, 1, 1))), axis=2, nan_mode="PROPAGATE")
    hit = m.op("EQUAL", m.const(I32, [[range(5)]]), m.op("RESHAPE", largest, m.graph.shape((1, 1, 5))))
    return m.op("SELECT", hit, m.const(dtype, [[[9]]]), m.op("RESHAPE", row, m.graph.shape((1, 1, 5))))


def with_itself(m: Maker, name: str, dtype: DType, unit: float = 256.0, **attrs: str) -> Tensor:
    """A tensor and itself in another shape."""
    x = m.input(dtype, 1, 3, 8)
    other = m.op("RESHAPE", x, m.graph.shape((3, 1, 8)))
    met = m.op(name, m.rescale(x, I32, unit), m.rescale(other, I32, unit), **attrs)
    return m.rescale(met, dtype, (1.0 if attrs else 0.7) / unit)


def minimum_read_otherwise(m: Maker, dtype: DType) -> Tensor:
    return read_otherwise(m, dtype, lambda x: m.op("REDUCE_MIN", x, axis=2))


def chosen_by(m: Maker, mask: Tensor, x: Tensor) -> Tensor:
    return m.op("SELECT", mask, x, m.const(x.dtype, [[[[-3]]]]))


def mask_of_sums(m: Maker) -> Tensor:
    return m.graph.constant(m.rng.integers(0, 2, (1, 1, 8, 8)).astype(bool), DType.BOOL)


def choice_by_mask_read_otherwise(m: Maker) -> Tensor:
    mask = m.op("GREATER", m.input(I32, 1, 6, 4, 8), m.const(I32, [[[[1000]]]]))
    other = chosen_by(m, m.op("RESHAPE", mask, m.graph.shape((1, 4, 6, 8))), m.input(I8, 1, 4, 6, 8))
    chosen = chosen_by(m, mask, m.input(I8, 1, 6, 4, 8))
    return m.sum("ADD", chosen, m.pool("MAX_POOL2D", other, (4, 6), (1, 1), (0, 0, 0, 0)), 4)


def maximum_of_rows(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", widened(m, 3, 3, 4), axis=1)
    return m.op("REDUCE_MAX", m.rescale(m.op("RESHAPE", total, m.graph.shape((3, 4))), I8, 0.2), axis=1)


def padded_wide(m: Maker, wide: Tensor, after: bool) -> Tensor:
    """PAD of a wide tensor, or of what a RESCALE makes of it."""
    x = wide if after else m.rescale(wide, I8, 1e-2)
    padded = m.op("PAD", x, m.graph.shape((0, 0, 1, 1)), m.const(wide.dtype if after else I8, [0]))
    return m.rescale(padded, I8, 1e-2) if after else padded


def increased(m: Maker, *shape: int) -> Tensor:
    return m.op("ADD", widened(m, *shape), m.const(I32, [[1]]))


def shifted_sum(m: Maker) -> Tensor:
    x, y = (m.rescale(m.input(I8, 3, 4), I32, 2.0**19, zero_in=21) for _ in range(2))
    return m.rescale(m.op("SUB", x, y), I8, 2e-6, zero_out=12)


def saturated_sum(m: Maker) -> Tensor:
    larger = m.op("MAXIMUM", widened(m, 5, 4), widened(m, 5, 4), nan_mode="PROPAGATE")
    wide = m.rescale(m.rescale(larger, I8, 3.0), I32, 1.0)
    return m.rescale(m.op("ADD", wide, m.const(I32, [[100]])), I8, 0.3)


def enlarged_sum(m: Maker) -> Tensor:
    shapes = (m.graph.shape(v) for v in ((4, 2, 4, 2), (-1, -1), (1, 1)))
    large = m.op("RESIZE", m.input(I8, 1, 20, 3, 57), *shapes, mode="NEAREST_NEIGHBOR")
    return m.rescale(m.op("ADD", m.rescale(large, I32, 1.0), m.const(I32, [[[[1]]]])), I8, 0.9)


def enlarged_joined(m: Maker) -> Tensor:
    shapes = (m.graph.shape(v) for v in ((8, 2, 8, 2), (-3, -3), (3, 3)))
    large = m.op("RESIZE", m.input(I8, 1, 3, 3, 21), *shapes, mode="NEAREST_NEIGHBOR")
    return m.op("CONCAT", large, m.input(I8, 1, 12, 12, 5), axis=3)


def enlarged_to(m: Maker, dtype: DType, other: DType) -> Tensor:
    shapes = (m.graph.shape(v) for v in ((4, 2, 4, 2), (-1, -1), (1, 1)))
    return m.rescale(m.op("RESIZE", m.input(dtype, 1, 4, 5, 21), *shapes, mode="NEAREST_NEIGHBOR"), other, 1.0)


def first_part(m: Maker, x: Tensor, *shape: int) -> Tensor:
    return m.op("SLICE", x, m.graph.shape((0, *(1 for _ in shape[1:]))), m.graph.shape(shape))


def sum_of_slice(m: Maker, copies: int = 0) -> Tensor:
    part = first_part(m, m.input(I8, 1, 6, 7, 12), 1, 5, 5, 9)
    for _ in range(copies):
        part = m.rescale(part, I8, 1.0)
    return m.rescale(m.op("REDUCE_SUM", m.rescale(part, I32, 1.0), axis=3), I8, 0.1)


def padded_then_less(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 5, 6, 11), m.graph.shape((0, 0, 1, 1, 0, 2, 3, 1)), m.const(I8, [7]))
    return m.rescale(m.op("SUB", m.rescale(padded, I32, 1.0), m.random(I32, -9, 9, 1, 7, 8, 15)), I8, 0.3)


def product_of_scales(m: Maker) -> Tensor:
    first = m.rescale(m.rescale(m.input(I8, *SHAPE), I8, 1.7), I32, 1.0)
    return m.rescale(m.op("MUL", first, m.rescale(m.input(I8, *SHAPE), I32, 2.0), m.const(I8, [0])), I8, 1e-2)


def repeated_slice(m: Maker) -> Tensor:
    wide = m.rescale(m.input(I8, 1, 6, 10, 21), I32, 2.0)
    row = m.op("SLICE", wide, m.graph.shape((0, 0, 0, 0)), m.graph.shape((1, 1, 10, 21)))
    return m.rescale(m.op("ADD", m.rescale(m.input(I8, 1, 6, 1, 21), I32, 3.0), row), I8, 0.3)


def repeated_part(m: Maker) -> Tensor:
    column = m.rescale(first_part(m, m.input(I8, 1, 7, 3, 20), 1, 6, 1, 19), I32, 2.0**15)
    return m.rescale(m.op("ADD", column, m.rescale(m.input(I8, 1, 6, 8, 19), I32, 1.5 * 2.0**15)), I8, 1e-5)


def shifted_part(m: Maker) -> Tensor:
    part = m.rescale(first_part(m, m.input(I16, 1, 6, 8, 34), 1, 5, 6, 17), I32, 2.0)
    return m.op("ARITHMETIC_RIGHT_SHIFT", part, m.const(I32, [[[[7]]]]), round=True)


def widened_part(m: Maker) -> Tensor:
    return m.op("CLZ", m.rescale(first_part(m, m.input(I8, 1, 7, 9, 22), 1, 6, 8, 19), I32, 2.0))


def widened_border(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, 1, 6, 8, 19), m.graph.shape((0, 0, 1, 1, 0, 2, 3, 0)), m.const(I8, [7]))
    return m.op("ABS", m.rescale(padded, I32, 2.0))


def part_and_zero_point(m: Maker) -> Tensor:
    part = m.rescale(first_part(m, m.input(I8, 1, 7, 9, 22), 1, 6, 8, 19), I32, 1.0, zero_in=5)
    return m.op("SUB", part, m.rescale(m.input(I8, 1, 6, 8, 19), I32, 2.0**19))


def whole_scales(m: Maker) -> Tensor:
    x, y = m.rescale(m.input(I8, *SHAPE), I32, 2.0), m.rescale(m.input(I8, *SHAPE), I32, 3.0)
    return m.rescale(m.op("SUB", x, y), I8, 0.1)


def made_smaller(m: Maker) -> Tensor:
    return m.bilinear(m.conv(m.input(I8, 1, 32, 28, 7), (1, 1), 11, scale=2e-2), (16, 14), half=True)


def reversed_table(m: Maker) -> Tensor:
    table = m.op("TABLE", m.op("REVERSE", m.input(I8, 1, 6, 8, 33), axis=1), m.random(I8, -128, 128, 256))
    return m.op("TRANSPOSE", table, perms=[0, 2, 1, 3])


def padded_table(m: Maker) -> Tensor:
    moved = m.op("TRANSPOSE", m.conv(m.input(I8, 1, 1, 5, 7), (1, 1), 2, scale=2e-2), perms=[0, 1, 3, 2])
    table = m.op("TABLE", moved, m.random(I8, -128, 128, 256))
    return m.op("PAD", table, m.graph.shape((0, 0, 1, 0, 1, 1, 0, 2)), m.const(I8, [-30]))


def joined_twice(m: Maker) -> Tensor:
    joined = m.op("CONCAT", m.input(I8, 1, 6, 4, 21), m.input(I8, 1, 6, 6, 21), axis=2)
    narrow = m.rescale(m.rescale(joined, I32, 1.0), I8, 0.8)
    return m.op("PAD", narrow, m.graph.shape((0, 0, 1, 0, 0, 2, 1, 1)), m.const(I8, [5]))


def padded_distance(m: Maker) -> Tensor:
    narrow = m.rescale(m.conv(m.rescale(m.input(I8, 1, 1, 1, 9), I8, 0.9), (1, 1), 1), I8, 1e-2)
    distance = m.op("ABS", m.rescale(narrow, I32, 1.0))
    return m.rescale(m.op("PAD", distance, m.graph.shape((0, 0, 0, 0, 0, 0, 2, 0)), m.const(I32, [0])), I8, 0.3)


def joined_minima(m: Maker) -> Tensor:
    minima = (m.op("MINIMUM", widened(m, 3, n), widened(m, 3, n), nan_mode="PROPAGATE") for n in (4, 5))
    return m.op("CONCAT", *(m.rescale(x, I8, 0.9) for x in minima), axis=1)


def window(m: Maker, axis: int, images: int, op: str, dtype: DType = I8, **attrs: Any) -> Tensor:
    """A convolution or pool of 3x3, with padding, of a part of what a convolution makes."""
    start, size = [0] * 4, [images, 5, 6, 7]
    start[axis] = 2
    whole = m.conv(m.input(dtype, *map(sum, zip(size, start, strict=True))), (1, 1), size[3] + start[3], scale=2e-2)
    part = m.op("SLICE", whole, m.graph.shape(start), m.graph.shape(size))
    if op.endswith("POOL2D"):
        return m.pool(op, part, (3, 3), (1, 1), (1, 1, 1, 1))
    return m.conv(part, (3, 3), 7, op=op, **{"pad": (1, 1, 1, 1), **attrs})


def multiplied(m: Maker) -> Tensor:
    weights, bias = m.random(I8, -127, 128, 3, 3, 5, 2), m.random(I32, -4000, 4000, 10)
    attrs = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1)}
    made = m.op("DEPTHWISE_CONV2D", m.input(I8, 1, 5, 6, 5), weights, bias, m.const(I8, [0]), m.const(I8, [0]), **attrs)
    return m.rescale(made, I8, 5e-3, channels=10)


def joined_multiplied(m: Maker) -> Tensor:
    return m.op("CONCAT", m.input(I8, 1, 5, 6, 10), multiplied(m), axis=1)


def long_average(m: Maker, images: int) -> Tensor:
    return m.pool("AVG_POOL2D", m.input(I8, images, 9, 9, 5), (9, 9), (1, 1), (4, 4, 4, 4))


def long_sum(m: Maker) -> Tensor:
    total = m.op("REDUCE_SUM", m.rescale(m.input(I8, 65537, 1), I32, 1.0, zero_in=3), axis=0)
    return m.rescale(total, I8, 3e-4)


def scattered(m: Maker) -> Tensor:
    places = m.const(I32, [m.rng.permutation(65536)])
    return m.op("SCATTER", m.input(I8, 1, 65536, 1), places, m.input(I8, 1, 65536, 1))


def padded_with_0(m: Maker) -> Tensor:
    padded = m.op("PAD", m.input(I8, *SHAPE), m.graph.shape((0, 0, 1, 1, 1, 1, 0, 0)), m.const(I8, [0]))
    return m.conv(padded, (3, 3), 7, zero=3)


def squeezed_part(m: Maker, start: tuple[int, ...], shape: tuple[int, ...], view: tuple[int, ...]) -> Tensor:
    whole = m.input(I8, *(size + 2 * at for size, at in zip(shape, start, strict=True)))
    part = m.op("SLICE", whole, m.graph.shape(start), m.graph.shape(shape))
    return m.rescale(m.op("RESHAPE", part, m.graph.shape(view)), I8, 0.8)


def sliced_product(m: Maker) -> Tensor:
    product = m.op("MUL", m.input(I8, 4, 9), m.input(I8, 4, 9), m.const(I8, [0]))
    return m.rescale(m.op("SLICE", product, m.graph.shape((0, 0)), m.graph.shape((3, 4))), I8, 1e-2)
