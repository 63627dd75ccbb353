"""TOSA operators whose sizes vary: for each, a graph at any size, and what of it varies.

The table in ``docs/explanation/vgf-runtime.md`` is made of these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph, Tensor
from arm_tosa_core.tosa.ir import DType

I8, I16, I32 = DType.INT8, DType.INT16, DType.INT32
Make = Callable[["Sized", int], Tensor]


class Sized:
    """A graph in the making."""

    def __init__(self) -> None:
        self.graph = Graph()

    def input(self, *shape: int, dtype: DType = I32) -> Tensor:
        return self.graph.input(f"x{len(self.graph.inputs)}", shape, dtype)

    def constant(self, shape: tuple[int, ...], dtype: DType, low: int = -100, high: int = 100) -> Tensor:
        kinds = {I8: np.int8, I16: np.int16, I32: np.int32}
        data = np.random.default_rng(sum(shape)).integers(low, high, shape).astype(kinds[dtype])
        return self.graph.constant(data, dtype)

    def zero(self, dtype: DType = I8) -> Tensor:
        return self.graph.constant(np.zeros(1, np.int8), dtype)

    def shape(self, *values: int) -> Tensor:
        return self.graph.shape(values)

    def op(self, name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
        return self.graph.append(name, inputs, attrs).output

    def window(self, x: Tensor, name: str, *kernel: int, **attrs: Any) -> Tensor:
        """A convolution of int8 with constant weights."""
        channels = kernel[2] * kernel[3] if name == "DEPTHWISE_CONV2D" else kernel[0]
        bias = self.constant((channels,), I32)
        return self.op(name, x, self.constant(kernel, I8), bias, self.zero(), self.zero(), **attrs)


@dataclass(frozen=True)
class Row:
    """An operator whose sizes vary.

    Args:
        operator: its name.
        varies: what of it does, as users read it.
        make: the operator at a size.
        least, most: the sizes.
    """

    operator: str
    varies: str
    make: Make
    least: int = 1
    most: int = 9

    def graph(self, size: int) -> Graph:
        sized = Sized()
        sized.graph.outputs = [self.make(sized, size)]
        return sized.graph


def _conv(n: int, h: int, **attrs: Any) -> Make:
    given: dict[str, Any] = {"stride": (1, 1), "pad": (1, 1, 1, 1), "dilation": (1, 1), **attrs}
    return lambda g, s: g.window(
        g.input(s if n == 0 else 2, s if h == 0 else 8, 8, 8, dtype=I8), "CONV2D", 12, 3, 3, 8, **given
    )


ANY, BATCH = "any dimension", "batch"
_PLAIN: dict[str, Any] = {"stride": (1, 1), "pad": (1, 1, 1, 1), "dilation": (1, 1)}
_POOL: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0)}
_NAN = {"nan_mode": "PROPAGATE"}

ROWS = (
    Row("ABS", ANY, lambda g, s: g.op("ABS", g.input(3, s, 5))),
    Row("ADD", ANY, lambda g, s: g.op("ADD", g.input(s, 3, 4), g.input(s, 3, 4))),
    Row("ADD", "broadcast along it", lambda g, s: g.op("ADD", g.input(s, 3, s), g.input(1, 3, s))),
    Row("ADD", "broadcast along it", lambda g, s: g.op("ADD", g.input(s, 1, 6), g.constant((1, 1, 6), I32))),
    Row("MAXIMUM", ANY, lambda g, s: g.op("MAXIMUM", g.input(2, s), g.input(2, 1), **_NAN)),
    Row("SELECT", ANY, lambda g, s: g.op("SELECT", g.input(s, 4, dtype=DType.BOOL), g.input(s, 4), g.input(1, 4))),
    Row("CLAMP", ANY, lambda g, s: g.op("CLAMP", g.input(s, 7, dtype=I8), min_val=-5, max_val=9, **_NAN)),
    Row("TABLE", ANY, lambda g, s: g.op("TABLE", g.input(2, s, dtype=I8), g.constant((256,), I8))),
    Row("CAST", ANY, lambda g, s: g.op("CAST", g.input(s, 3, dtype=I8), output_dtype=I16)),
    Row("ARGMAX", "along the axis", lambda g, s: g.op("ARGMAX", g.input(3, s, dtype=I8), axis=1, **_NAN)),
    Row("ARGMAX", "other dimensions", lambda g, s: g.op("ARGMAX", g.input(s, 6, dtype=I8), axis=1, **_NAN)),
    Row("REDUCE_SUM", "along the axis", lambda g, s: g.op("REDUCE_SUM", g.input(3, s, 5), axis=1), 1, 24),
    Row("REDUCE_SUM", "other dimensions", lambda g, s: g.op("REDUCE_SUM", g.input(s, 3, 8), axis=2)),
    Row("REDUCE_MAX", "along the axis", lambda g, s: g.op("REDUCE_MAX", g.input(3, s), axis=1, **_NAN), 1, 24),
    Row("CONV2D", BATCH, _conv(0, 1)),
    Row("CONV2D", "height and width, at a stride of 1", _conv(1, 0)),
    Row(
        "CONV2D",
        "height and width in steps of the stride",
        lambda g, s: g.window(
            g.input(1, 2 * s + 1, 9, 8, dtype=I8), "CONV2D", 4, 3, 3, 8, **{**_PLAIN, "stride": (2, 2), "pad": (0,) * 4}
        ),
    ),
    Row(
        "CONV3D",
        BATCH,
        lambda g, s: g.window(
            *(g.input(s, 3, 4, 4, 4, dtype=I8), "CONV3D", 4, 2, 2, 2, 4),
            stride=(1, 1, 1),
            pad=(0,) * 6,
            dilation=(1, 1, 1),
        ),
    ),
    Row(
        "DEPTHWISE_CONV2D",
        BATCH,
        lambda g, s: g.window(g.input(s, 6, 6, 8, dtype=I8), "DEPTHWISE_CONV2D", 3, 3, 8, 1, **_PLAIN),
    ),
    Row(
        "DEPTHWISE_CONV2D",
        "height and width, at a stride of 1",
        lambda g, s: g.window(g.input(1, s, 6, 8, dtype=I8), "DEPTHWISE_CONV2D", 3, 3, 8, 1, **_PLAIN),
    ),
    Row(
        "TRANSPOSE_CONV2D",
        BATCH,
        lambda g, s: g.window(
            g.input(s, 4, 4, 4, dtype=I8), "TRANSPOSE_CONV2D", 8, 2, 2, 4, stride=(2, 2), out_pad=(0,) * 4
        ),
    ),
    Row(
        "MATMUL",
        "batch",
        lambda g, s: g.op("MATMUL", g.input(s, 3, 8, dtype=I8), g.input(s, 8, 4, dtype=I8), *[g.zero()] * 2),
    ),
    Row(
        "MATMUL",
        "rows",
        lambda g, s: g.op("MATMUL", g.input(2, s, 8, dtype=I8), g.input(2, 8, 4, dtype=I8), *[g.zero()] * 2),
    ),
    Row(
        "MATMUL",
        "columns",
        lambda g, s: g.op("MATMUL", g.input(2, 3, 8, dtype=I8), g.input(2, 8, s, dtype=I8), *[g.zero()] * 2),
    ),
    Row(
        "MATMUL",
        "what is summed",
        lambda g, s: g.op("MATMUL", g.input(2, 3, s, dtype=I8), g.input(2, s, 4, dtype=I8), *[g.zero()] * 2),
    ),
    Row(
        "AVG_POOL2D", BATCH, lambda g, s: g.op("AVG_POOL2D", g.input(s, 4, 4, 8, dtype=I8), g.zero(), g.zero(), **_POOL)
    ),
    Row(
        "AVG_POOL2D",
        "a window over all of it",
        lambda g, s: g.op(
            *("AVG_POOL2D", g.input(1, s, 4, 8, dtype=I8), g.zero(), g.zero()),
            kernel=(s, 4),
            stride=(1, 1),
            pad=(0,) * 4,
        ),
    ),
    Row("MAX_POOL2D", BATCH, lambda g, s: g.op("MAX_POOL2D", g.input(s, 4, 4, 8, dtype=I8), **_POOL, **_NAN)),
    Row(
        "MAX_POOL2D",
        "height and width in steps of the stride",
        lambda g, s: g.op("MAX_POOL2D", g.input(1, 2 * s, 4, 8, dtype=I8), **_POOL, **_NAN),
    ),
    Row("CONCAT", "along the axis", lambda g, s: g.op("CONCAT", g.input(2, s, 3), g.input(2, 4, 3), axis=1)),
    Row(
        "CONCAT",
        "other dimensions",
        lambda g, s: g.op("CONCAT", g.input(s, 2, dtype=I8), g.input(s, 3, dtype=I8), axis=1),
    ),
    Row("PAD", ANY, lambda g, s: g.op("PAD", g.input(s, 3, dtype=I8), g.shape(1, 0, 2, 1), g.zero())),
    Row("PAD", "up to a fixed size", lambda g, s: g.op("PAD", g.input(s, 3), g.shape(0, 12 - s, 0, 0), g.zero(I32))),
    Row("RESHAPE", "products of sizes", lambda g, s: g.op("ABS", g.op("RESHAPE", g.input(s, 3, 4), g.shape(3 * s, 4)))),
    Row(
        "RESHAPE",
        "products of sizes",
        lambda g, s: g.op("REDUCE_SUM", g.op("RESHAPE", g.input(4, s), g.shape(2, 2, s)), axis=1),
    ),
    Row("REVERSE", ANY, lambda g, s: g.op("REVERSE", g.input(2, s, dtype=I8), axis=1)),
    Row("SLICE", ANY, lambda g, s: g.op("SLICE", g.input(s, 5), g.shape(0, 1), g.shape(s, 3))),
    Row(
        "SLICE",
        "from a place counted from the end",
        lambda g, s: g.op("SLICE", g.input(s, 5), g.shape(s - 1, 0), g.shape(1, 5)),
    ),
    Row("TILE", ANY, lambda g, s: g.op("TILE", g.input(s, 3, dtype=I8), g.shape(2, 1))),
    Row(
        "TILE",
        "as often as the size says",
        lambda g, s: g.op("ADD", g.input(s, 3), g.op("TILE", g.input(1, 3), g.shape(s, 1))),
    ),
    Row("TRANSPOSE", ANY, lambda g, s: g.op("TRANSPOSE", g.input(s, 8, 12, dtype=I8), perms=(1, 2, 0)), 1, 24),
    Row("TRANSPOSE", ANY, lambda g, s: g.op("TRANSPOSE", g.input(2, s, 12), perms=(0, 2, 1)), 1, 24),
    Row(
        "GATHER",
        "rows that are taken",
        lambda g, s: g.op(
            "GATHER", g.input(1, 8, 4), g.op("BITWISE_AND", g.input(1, s), g.constant((1, 1), I32, 7, 8))
        ),
    ),
    Row(
        "GATHER",
        "rows of a constant",
        lambda g, s: g.op(
            "GATHER", g.constant((1, 8, 4), I32), g.op("BITWISE_AND", g.input(1, s), g.constant((1, 1), I32, 7, 8))
        ),
    ),
    Row(
        "RESIZE",
        BATCH,
        lambda g, s: g.op(
            "RESIZE",
            g.input(s, 4, 4, 4, dtype=I8),
            g.shape(2, 1, 2, 1),
            g.shape(0, 0),
            g.shape(1, 1),
            mode="NEAREST_NEIGHBOR",
        ),
    ),
    Row(
        "constants",
        "the first rows of a constant",
        lambda g, s: g.op(
            "ADD", g.input(2, s, 3), g.graph.constant(np.arange(27, dtype=np.int32).reshape(1, 9, 3)[:, :s], I32)
        ),
    ),
    Row(
        "constants",
        "the first rows and columns of a constant",
        lambda g, s: g.op(
            "ADD", g.input(2, s, s), g.graph.constant(np.arange(81, dtype=np.int32).reshape(1, 9, 9)[:, :s, :s], I32)
        ),
    ),
)
