"""Constructs that Vela compiles to something else than what TOSA says: the rows of ``test_differences.py``."""

from __future__ import annotations

from dataclasses import dataclass

import different_graphs as made
from different_graphs import SHAPE
from graphs import I8, I16, I32, U8, Make


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


ROWS = {
    "narrowing cast, U55": Row(lambda m: m.op("CAST", m.input(I16, *SHAPE), output_dtype=I8), "ethos-u55-128"),
    "narrowing cast, U85": Row(lambda m: m.op("CAST", m.input(I32, *SHAPE), output_dtype=I8), "ethos-u85-256"),
    "left shift of 16 bits": Row(
        lambda m: m.op("LOGICAL_LEFT_SHIFT", m.input(I16, *SHAPE), m.random(I16, 0, 15, *SHAPE)),
        "ethos-u85-256",
    ),
    "choice between a map and a rescaled one": Row(made.choice, "ethos-u85-256"),
    "SLICE, then maximum of one channel": Row(made.maximum_of_a_channel, "ethos-u85-256"),
    "mask cast to 8 bits, then widened": Row(made.weighted_mask, "ethos-u85-256"),
    "maximum of neighbours, then widened": Row(
        lambda m: m.rescale(m.pool("MAX_POOL2D", m.input(I8, *SHAPE), (2, 2), (1, 1), (0, 0, 0, 0)), I16, 100.0),
        "ethos-u85-256",
    ),
    "CAST to 16 bits, then widened": Row(
        lambda m: m.rescale(m.op("CAST", m.input(I8, *SHAPE), output_dtype=I16), I32, 9000.0), "ethos-u85-512"
    ),
    "square TRANSPOSE, then a pool": Row(
        lambda m: m.pool("MAX_POOL2D", made.swapped(m, m.input(I8, 1, 16, 16, 45)), (2, 2), (1, 1), (0, 0, 0, 0)),
        "ethos-u55-128",
    ),
    "square TRANSPOSE, then RESCALE": Row(
        lambda m: m.rescale(made.swapped(m, m.input(I8, 1, 6, 6, 8)), I8, 0.9), "ethos-u55-128"
    ),
    "square TRANSPOSE, then ADD": Row(made.sum_of_swapped, "ethos-u55-128"),
    "TRANSPOSE of four axes, then PAD": Row(made.padded_transpose, "ethos-u55-128"),
    "TRANSPOSE, RESHAPE, TRANSPOSE": Row(made.twice_transposed, "ethos-u65-256"),
    "TRANSPOSE, RESHAPE, TRANSPOSE in steps": Row(made.transposed_in_steps, "ethos-u55-128"),
    "TRANSPOSE, CLAMP, convolution": Row(made.transposed_clamp, "ethos-u85-1024"),
    "outer product": Row(made.outer_product, "ethos-u55-128"),
    "outer sum of a transposed row": Row(made.outer_sum, "ethos-u65-256"),
    "absolute values, then PAD": Row(
        lambda m: made.padded_wide(m, m.op("ABS", made.increased(m, 3, 4)), False), "ethos-u85-256"
    ),
    "RESCALE to INT32, then CONCAT": Row(
        lambda m: m.op("CONCAT", made.widened(m, 3, 4), made.widened(m, 3, 5), axis=1), "ethos-u65-512"
    ),
    "RESCALE to INT32, then PAD and RESCALE": Row(
        lambda m: made.padded_wide(m, made.widened(m, 3, 4), True), "ethos-u55-32"
    ),
    "PAD of INT32, then RESCALE": Row(lambda m: made.padded_wide(m, m.input(I32, 3, 4), True), "ethos-u55-64"),
    "RESCALE of INT32, then PAD": Row(lambda m: made.padded_wide(m, m.input(I32, 3, 4), False), "ethos-u55-256"),
    "plus 1, then PAD": Row(lambda m: made.padded_wide(m, made.increased(m, 3, 4), False), "ethos-u55-128"),
    "sum of two scales, then PAD": Row(
        lambda m: m.op("PAD", made.shifted_sum(m), m.graph.shape((1, 0, 1, 1)), m.const(I8, [0])), "ethos-u65-512"
    ),
    "saturated, then widened": Row(made.saturated_sum, "ethos-u55-128"),
    "enlarged, then widened": Row(made.enlarged_sum, "ethos-u55-128"),
    "enlarged by 4, then CONCAT": Row(made.enlarged_joined, "ethos-u65-512"),
    "enlarged by 2, then to 16 bits": Row(lambda m: made.enlarged_to(m, I8, I16), "ethos-u55-128"),
    "enlarged by 2, then to 8 bits": Row(lambda m: made.enlarged_to(m, I16, I8), "ethos-u65-512"),
    "SLICE, widened, then a sum, U55": Row(made.sum_of_slice, "ethos-u55-256"),
    "SLICE, widened, then a sum, U85": Row(made.sum_of_slice, "ethos-u85-256"),
    "SLICE, RESCALE by 1, then a sum": Row(lambda m: made.sum_of_slice(m, copies=1), "ethos-u65-512"),
    "PAD, then widened": Row(made.padded_then_less, "ethos-u65-512"),
    "RESCALE, then widened": Row(lambda m: m.rescale(m.rescale(m.input(I8, 5, 4), I8, 3.0), I32, 1.0), "ethos-u55-32"),
    "CONCAT, widened, RESCALE, PAD": Row(made.joined_twice, "ethos-u85-512"),
    "sum of a scale of 1 and one of 2": Row(
        lambda m: m.rescale(m.op("ADD", made.widened(m, *SHAPE), m.rescale(m.input(I8, *SHAPE), I32, 2.0)), I8, 0.3),
        "ethos-u55-128",
    ),
    "product of a scale of 1 and one of 2": Row(made.product_of_scales, "ethos-u65-256"),
    "REVERSE, TABLE, TRANSPOSE": Row(made.reversed_table, "ethos-u85-128"),
    "TRANSPOSE, TABLE, PAD": Row(made.padded_table, "ethos-u65-512"),
    "convolution, then made smaller": Row(made.made_smaller, "ethos-u85-256"),
    "SLICE, widened, then repeated": Row(made.repeated_part, "ethos-u65-256"),
    "SLICE, widened, then shifted": Row(made.shifted_part, "ethos-u55-128"),
    "SLICE, widened": Row(made.widened_part, "ethos-u55-128"),
    "TILE, widened": Row(lambda m: m.op("ABS", made.tiled(m, I8, 2.0, I32)), "ethos-u55-128"),
    "PAD, widened": Row(made.widened_border, "ethos-u55-256"),
    "SLICE, widened from a zero point": Row(made.part_and_zero_point, "ethos-u65-512"),
    "difference of scales of 2 and 3": Row(made.whole_scales, "ethos-u55-256"),
    "SLICE of INT32 that is repeated": Row(made.repeated_slice, "ethos-u85-256"),
    "RESCALE, ABS, PAD of INT32": Row(made.padded_distance, "ethos-u85-1024"),
    "two minima, then CONCAT": Row(made.joined_minima, "ethos-u55-128"),
    "CONCAT of INT32, then RESCALE": Row(
        lambda m: m.rescale(m.op("CONCAT", m.input(I32, 3, 4), m.input(I32, 3, 5), axis=1), I8, 1e-2), "ethos-u55-256"
    ),
    "CONCAT of INT32, RESHAPE, then RESCALE": Row(made.joined_reshaped, "ethos-u55-128"),
    "SLICE of INT32, then RESCALE": Row(made.sliced_product, "ethos-u55-128"),
    "RESCALE, then unsigned": Row(
        lambda m: m.rescale(m.rescale(m.input(I8, *SHAPE), I8, 1.7), U8, 1.0, zero_out=128), "ethos-u65-256"
    ),
    "maximum along an axis, then unsigned": Row(
        lambda m: m.rescale(m.op("REDUCE_MAX", m.input(I8, *SHAPE), axis=3), U8, 1.0, zero_out=128), "ethos-u85-256"
    ),
    "difference, RESHAPE, then unsigned": Row(made.unsigned_difference, "ethos-u55-128"),
    "TILE of INT32, then RESCALE": Row(lambda m: made.tiled(m, I32, 1e-2), "ethos-u65-256"),
    "CONCAT, RESCALE, then CONCAT": Row(made.joined_again, "ethos-u85-256"),
    "PAD, RESCALE, then CONCAT": Row(made.padded_again, "ethos-u55-256"),
    "TILE, RESCALE, then CONCAT": Row(
        lambda m: m.op("CONCAT", m.input(I8, 1, 4, 1, 7), made.tiled(m, I8, 0.9), axis=2), "ethos-u55-128"
    ),
    "TILE, RESCALE, then PAD": Row(
        lambda m: m.op("PAD", made.tiled(m, I8, 0.9), m.graph.shape((0, 0, 0, 1, 2, 0, 0, 0)), m.const(I8, [4])),
        "ethos-u85-256",
    ),
    "shift without rounding": Row(
        lambda m: m.op("ARITHMETIC_RIGHT_SHIFT", m.input(I32, *SHAPE), m.random(I32, 0, 31, *SHAPE), round=False),
        "ethos-u55-128",
    ),
    "nearest neighbour, unequal factors": Row(made.resize, "ethos-u65-256"),
    "equal weights, other biases": Row(lambda m: made.tied(m, "CONV2D", I8), "ethos-u55-128"),
    "equal weights of INT16, other biases": Row(lambda m: made.tied(m, "CONV2D", I16), "ethos-u65-256"),
    "results behind the last window of two transposed convolutions": Row(made.two_with_out_pad, "ethos-u55-128"),
    "equal weights by channel, other biases": Row(lambda m: made.tied(m, "DEPTHWISE_CONV2D", I8), "ethos-u85-256"),
    "matrix of 65537 rows": Row(made.matmul, "ethos-u55-128", True),
    "transposed convolution, 65537 rows": Row(
        lambda m: m.conv(m.input(I8, 1, 32768, 1, 2), (3, 1), 3, op="TRANSPOSE_CONV2D", stride=(2, 1)), "ethos-u65-256"
    ),
    "transposed convolution, then CONCAT": Row(
        lambda m: m.op("CONCAT", m.input(I8, 1, 11, 13, 9), made.transpose_conv(m), axis=3), "ethos-u55-128"
    ),
    "transposed convolution, then PAD": Row(made.padded, "ethos-u65-512"),
    "matrix product, then CONCAT": Row(made.concat_product, "ethos-u55-128"),
    "maximum of channels, then CONCAT, U55": Row(made.concat_maximum, "ethos-u55-128"),
    "maximum of channels, then CONCAT, U85": Row(made.concat_maximum, "ethos-u85-256"),
    "SLICE, then maximum": Row(made.maximum_of_slice, "ethos-u55-256"),
    "SLICE, then transposed convolution, U55": Row(made.transpose_conv_of_slice, "ethos-u55-256"),
    "SLICE, then transposed convolution, U85": Row(made.transpose_conv_of_slice, "ethos-u85-128"),
    "images of a batch, then a convolution with padding": Row(
        lambda m: made.window(m, 0, 2, "CONV2D"), "ethos-u55-128"
    ),
    "rows of two images, then a depthwise convolution with padding": Row(
        lambda m: made.window(m, 1, 2, "DEPTHWISE_CONV2D", I16), "ethos-u65-256"
    ),
    "columns of three images, then a pool with padding": Row(
        lambda m: made.window(m, 2, 3, "MAX_POOL2D"), "ethos-u85-256"
    ),
    "channels of two images, then an average with padding": Row(
        lambda m: made.window(m, 3, 2, "AVG_POOL2D"), "ethos-u55-256"
    ),
    "channels, then a convolution dilated by 3 with padding": Row(
        lambda m: made.window(m, 3, 1, "CONV2D", pad=(3, 3, 3, 3), dilation=(3, 3)), "ethos-u65-512"
    ),
    "rows, then a convolution dilated by 3": Row(
        lambda m: made.window(m, 1, 1, "CONV2D", I16, pad=(1, 1, 0, 0), dilation=(3, 1)), "ethos-u85-128"
    ),
    "part of two images seen as one": Row(
        lambda m: made.squeezed_part(m, (0, 0, 0, 1), (2, 5, 6, 7), (1, 2, 5, 6, 7)), "ethos-u55-128"
    ),
    "images of one batch": Row(
        lambda m: made.squeezed_part(m, (0, 2, 0, 0, 0), (1, 2, 5, 6, 7), (2, 5, 6, 7)), "ethos-u85-256"
    ),
    "images of one of three batches": Row(
        lambda m: made.squeezed_part(m, (1, 2, 0, 0, 1), (1, 2, 5, 6, 7), (2, 5, 6, 7)), "ethos-u85-512"
    ),
    "PAD with 0, then a convolution with a zero point": Row(made.padded_with_0, "ethos-u55-128"),
    "PAD with 0, then a convolution with a zero point, U85": Row(made.padded_with_0, "ethos-u85-256"),
    "multiplied depthwise convolution, then CONCAT, U55": Row(made.joined_multiplied, "ethos-u55-128"),
    "multiplied depthwise convolution, then CONCAT, U85": Row(made.joined_multiplied, "ethos-u85-256"),
    "multiplied depthwise convolution, then TABLE": Row(
        lambda m: m.op("TABLE", made.multiplied(m), m.random(I8, -128, 128, 256)), "ethos-u55-32"
    ),
    "sum of 65537": Row(made.long_sum, "ethos-u85-256"),
    "65536 indices": Row(
        lambda m: m.op("GATHER", m.input(I8, 1, 10, 1), m.random(I32, 0, 10, 1, 65536)), "ethos-u85-256"
    ),
    "65536 places": Row(made.scattered, "ethos-u85-512"),
    "average of 9x9 with padding, then CONCAT": Row(
        lambda m: m.op("CONCAT", m.input(I8, 1, 9, 9, 5), made.long_average(m, 1), axis=1), "ethos-u85-256"
    ),
    "average of 9x9 with padding, two images": Row(lambda m: made.long_average(m, 2), "ethos-u85-256", refused=True),
    "SLICE, then ARGMAX": Row(
        lambda m: m.op("ARGMAX", made.first_part(m, m.input(I8, 1, 6, 7, 9), 1, 5, 6, 7), axis=2), "ethos-u85-256"
    ),
    "SLICE, then CONV3D": Row(made.conv3d_of_slice, "ethos-u85-256"),
    "SLICE, then MATMUL": Row(made.product_of_slice, "ethos-u65-512"),
    "two INT16 tables": Row(made.two_tables, "ethos-u85-128"),
    "sum, then maximum": Row(made.maximum_of_sum, "ethos-u55-256"),
    "sum, then maximum, U85": Row(made.maximum_of_rows, "ethos-u85-256"),
    "minimum of rows, then RESHAPE": Row(
        lambda m: m.op("RESHAPE", m.op("REDUCE_MIN", m.input(I8, 5, 6, 7), axis=1), m.graph.shape((5, 7))),
        "ethos-u55-256",
    ),
    "minimum of columns, then TRANSPOSE": Row(
        lambda m: m.op("TRANSPOSE", m.op("REDUCE_MIN", m.input(I16, 1, 5, 6, 7), axis=2), perms=[0, 2, 1, 3]),
        "ethos-u65-512",
    ),
    "minimum of what is read in another shape": Row(lambda m: made.minimum_read_otherwise(m, I8), "ethos-u55-128"),
    "minimum of what is read in another shape, U65": Row(
        lambda m: made.minimum_read_otherwise(m, I16), "ethos-u65-256"
    ),
    "minimum of one of two views": Row(
        lambda m: made.two_views(m, I16, lambda x: m.op("REDUCE_MIN", x, axis=2)), "ethos-u65-512"
    ),
    "outer sum of one of two views": Row(
        lambda m: made.repeated_view(m, I8, lambda x, y: m.op("ADD", x, y), 0.3), "ethos-u55-128"
    ),
    "outer difference of one of two views of a sum": Row(
        lambda m: made.repeated_view(m, I8, lambda x, y: m.op("SUB", x, y), 0.3, summed=True), "ethos-u55-128"
    ),
    "outer product of one of two views": Row(
        lambda m: made.repeated_view(m, I16, lambda x, y: m.op("MUL", x, y, m.const(I8, [0])), 1e-4), "ethos-u65-256"
    ),
    "sum of a tensor and itself in another shape": Row(lambda m: made.with_itself(m, "ADD", I8), "ethos-u55-128"),
    "difference of a tensor and itself in another shape": Row(
        lambda m: made.with_itself(m, "SUB", I16), "ethos-u65-256"
    ),
    "maximum of a tensor and itself in another shape": Row(
        lambda m: made.with_itself(m, "MAXIMUM", I8, 1.0, nan_mode="PROPAGATE"), "ethos-u55-64"
    ),
    "choice from what is read in another shape": Row(
        lambda m: made.read_otherwise(m, I8, lambda x: made.chosen_by(m, made.mask_of_sums(m), x)), "ethos-u85-256"
    ),
    "choice from one of two views": Row(
        lambda m: made.two_views(m, I8, lambda x: made.chosen_by(m, made.mask_of_sums(m), x)), "ethos-u85-512"
    ),
    "choice from one of two views, by the other": Row(lambda m: made.choice_by_largest(m, I16), "ethos-u85-256"),
    "choice by what is read in another shape": Row(made.choice_by_mask_read_otherwise, "ethos-u85-128"),
    "CAST, RESCALE by 1 back, then a wider type": Row(
        lambda m: m.rescale(
            m.rescale(m.rescale(m.op("CAST", m.input(I16, 2, 5), output_dtype=I32), I16, 1.0), I32, 2.0**14),
            I16,
            2.0**-15,
        ),
        "ethos-u85-256",
    ),
    "PAD of channels, then a RESCALE of each, U65": Row(made.rescale_padded, "ethos-u65-256"),
    "TILE of channels, then a RESCALE of each, U65": Row(made.rescale_tiled, "ethos-u65-512"),
    "TILE of channels, then a RESCALE of each, U85": Row(made.rescale_tiled, "ethos-u85-128"),
    "PAD of channels, then a RESCALE of each, U85": Row(made.rescale_padded, "ethos-u85-512"),
    "transposed table": Row(made.transposed_table, "ethos-u55-32"),
    "transposed, reshaped table": Row(made.transposed_reshaped_table, "ethos-u55-32"),
    "convolution with 128 columns of padding on the left": Row(
        lambda m: m.conv(m.input(I8, 1, 1, 300, 4), (1, 401), 4, pad=(0, 0, 128, 200), zero=5), "ethos-u55-128"
    ),
    "convolution with 256 columns of padding on the right": Row(
        lambda m: m.conv(m.input(I8, 1, 1, 300, 4), (1, 401), 4, pad=(0, 0, 100, 256), zero=5), "ethos-u65-256"
    ),
    "pool with 128 rows of padding at the top": Row(lambda m: made.padded_pool(m, (128, 0, 0, 0)), "ethos-u55-128"),
    "pool with 256 rows of padding at the bottom": Row(lambda m: made.padded_pool(m, (0, 256, 0, 0)), "ethos-u85-256"),
    "window of 257 rows behind a PAD": Row(lambda m: made.tall(m, "PAD"), "ethos-u55-128"),
    "window of 257 rows behind a CONCAT": Row(lambda m: made.tall(m, "CONCAT"), "ethos-u65-256"),
    "window of 224 rows behind a PAD": Row(lambda m: made.tall(m, "PAD", 224), "ethos-u85-256"),
    "average of 128 columns of padding on the left": Row(
        lambda m: made.padded_average(m, (0, 0, 128, 0)), "ethos-u85-256", refused=True
    ),
    "average of 256 columns of padding on the right": Row(
        lambda m: made.padded_average(m, (0, 0, 0, 256)), "ethos-u85-256", refused=True
    ),
    "two RESCALEs of an INT48 accumulator": Row(
        lambda m: made.two_rescales(m, I32, 1.0, I16, 3e-3), "ethos-u85-256", off=1
    ),
    "one element before a tensor of five axes": Row(
        lambda m: m.op("SUB", m.input(I32, 1, 1, 1, 1, 1), m.input(I32, 2, 1, 3, 4, 5)), "ethos-u55-128"
    ),
    "one element times a tensor of six axes": Row(
        lambda m: m.sum("MAXIMUM", m.input(I8, *(1,) * 6), m.input(I8, 1, 2, 1, 3, 4, 1), 9), "ethos-u65-256"
    ),
    "two RESCALEs of an INT48 accumulator to INT32": Row(
        lambda m: made.two_rescales(m, I32, 1.0, I32, 0.37), "ethos-u85-256"
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
    "pool with 127 and 255 rows of padding": lambda m: made.padded_pool(m, (127, 255, 0, 0)),
    "distance from the largest of few scores": made.scores,
    "INT16 TABLE of a distance of 8 bits": made.table_of_distance,
    "sum that two RESCALEs read": made.sum_read_twice,
    "INT16 between two RESCALEs": lambda m: made.two_rescales(m, I16, 1e-2, I16, 0.7),
    "INT8 between two RESCALEs": lambda m: made.two_rescales(m, I8, 1e-4, I16, 2.5),
    "INT32, rounded, between two RESCALEs": lambda m: made.two_rescales(m, I32, 1e-3, I16, 2.5),
    "INT32, rounded, between two RESCALEs to INT32": lambda m: made.two_rescales(m, I32, 1e-3, I32, 100.5),
    "INT32, rounded, between two RESCALEs of 16 bits": lambda m: made.two_rescales(m, I32, 1e-3, I16, 5.0, wide=False),
}
