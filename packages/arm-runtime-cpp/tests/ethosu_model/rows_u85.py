"""TOSA graphs for what only Ethos-U85 has, one row each."""

from __future__ import annotations

import numpy as np
from graphs import I8, I16, I32, Make, Maker

from arm_tosa_core.tosa.ir import DType, Tensor

BOOL = DType.BOOL
_SHAPE = (1, 5, 6, 19)


def _binary(op: str, dtype: DType, low: int, high: int, **attrs: int) -> Make:
    """Between an input and a constant within [low, high)."""
    return lambda m: m.op(op, m.input(dtype, *_SHAPE), m.random(dtype, low, high, 1, 1, 6, 19), **attrs)


def _compare(op: str) -> Make:
    """Which of two maps, as a quantized program has it: a comparison, then a choice."""

    def make(m: Maker) -> Tensor:
        x, y = m.input(I32, *_SHAPE), m.input(I32, *_SHAPE)
        return m.op("SELECT", m.op(op, x, y), y, m.op("ABS", x))

    return make


def _resize(mode: str, numerators: tuple[int, int], step: int, *, dtype: DType = I8) -> Make:
    """Enlarges 7x9 by ``numerators`` / ``step``, aligned at the first element."""

    def make(m: Maker) -> Tensor:
        x = m.input(dtype, 1, 7, 9, 21)
        border = tuple((size - 1) * n % step for size, n in zip((7, 9), numerators, strict=True))
        scale = (numerators[0], step, numerators[1], step)
        shapes = [m.graph.shape(values) for values in (scale, (0, 0), tuple(-b for b in border))]
        made = m.op("RESIZE", x, *shapes, mode=mode)
        if mode != "BILINEAR":
            return made
        return m.rescale(made, dtype, 1 / (numerators[0] * numerators[1]), wide=dtype is I8)

    return make


def _gather(dtype: DType) -> Make:
    return lambda m: m.op("GATHER", m.input(dtype, 2, 40, 13), m.random(I32, 0, 40, 2, 21))


def _scatter(m: Maker) -> Tensor:
    indices = np.stack([m.rng.permutation(40)[:21] for _ in range(2)])
    return m.op("SCATTER", m.input(I8, 2, 40, 13), m.const(I32, indices), m.input(I8, 2, 21, 13))


#: Name, and what makes the graph's output.
ROWS: dict[str, Make] = {
    "and INT32": _binary("BITWISE_AND", I32, -(1 << 31), 1 << 31),
    "or INT32": _binary("BITWISE_OR", I32, -(1 << 31), 1 << 31),
    "xor INT16": _binary("BITWISE_XOR", I16, -(1 << 15), 1 << 15),
    "not INT32": lambda m: m.op("BITWISE_NOT", m.input(I32, *_SHAPE)),
    "division INT32": _binary("INTDIV", I32, 1, 3000),
    "division by negative INT32": _binary("INTDIV", I32, -3000, 0),
    "logical right shift INT32": _binary("LOGICAL_RIGHT_SHIFT", I32, 0, 32),
    "equal": _compare("EQUAL"),
    "greater": _compare("GREATER"),
    "greater or equal": _compare("GREATER_EQUAL"),
    "resize bilinear": _resize("BILINEAR", (4, 6), 2),
    "resize bilinear INT16": _resize("BILINEAR", (4, 4), 1, dtype=I16),
    "resize bilinear down": _resize("BILINEAR", (1, 1), 2),
    "resize nearest": _resize("NEAREST_NEIGHBOR", (6, 4), 2),
    "argmax of channels": lambda m: m.op("ARGMAX", m.input(I8, 1, 9, 7, 300), axis=3),
    "argmax of rows INT16": lambda m: m.op("ARGMAX", m.input(I16, 1, 30, 7, 21), axis=1),
    "gather INT8": _gather(I8),
    "gather INT32": _gather(I32),
    "scatter": _scatter,
    "matmul INT16": lambda m: m.rescale(
        m.op("MATMUL", m.input(I16, 3, 7, 33), m.input(I16, 3, 33, 12), m.const(I16, [0]), m.const(I16, [0])),
        I16, 1e-6, wide=False,
    ),
    "matmul of large depth": lambda m: m.matmul(m.input(I8, 2, 9, 700), m.input(I8, 2, 700, 20)),
    "reverse of channels": lambda m: m.op("REVERSE", m.input(I8, *_SHAPE), axis=3),
    "reverse of channels INT32": lambda m: m.op("REVERSE", m.input(I32, *_SHAPE), axis=3),
    "transpose after conv": lambda m: m.op(
        "TRANSPOSE", m.conv(m.input(I8, 1, 9, 11, 21), (3, 3), 30, zero=-4), perms=[0, 3, 1, 2]
    ),
    "transpose conv INT16": lambda m: m.conv(
        m.input(I16, 1, 5, 6, 12), (3, 3), 14, op="TRANSPOSE_CONV2D", stride=(2, 2)
    ),
    "conv 3x3, 2 of 4 weights are 0": lambda m: m.conv(m.input(I8, 1, 9, 11, 64), (3, 3), 40, keep=(1, 0, 0, 1)),
    "conv 1x1, 2 of 4 weights are 0": lambda m: m.conv(m.input(I8, 1, 9, 11, 200), (1, 1), 40, keep=(0, 1, 0, 1)),
    "conv 3x3, weights of few values": lambda m: m.conv(m.input(I8, 1, 9, 11, 40), (3, 3), 40, step=60),
    "conv 3x3, stride 4, padding": lambda m: m.conv(m.input(I8, 1, 17, 13, 20), (3, 3), 9, stride=(4, 4), pad=(1,) * 4),
    "max pool, stride 4, padding": lambda m: m.pool("MAX_POOL2D", m.input(I8, 1, 17, 13, 20), (5, 5), (4, 4), (2,) * 4),
    "conv of 2000 channels": lambda m: m.conv(m.input(I8, 1, 5, 5, 2000), (3, 3), 24, scale=3e-4),
    "softmax": lambda m: _softmax(m),
}  # fmt: skip


def _softmax(m: Maker) -> Tensor:
    """A row minus its maximum, through a table, over its sum: operations that Vela chains."""
    x = m.input(I8, 1, 6, 7, 50)
    wide = m.rescale(x, I32, 1.0)
    difference = m.op("SUB", wide, m.rescale(m.op("REDUCE_MAX", x, axis=3), I32, 1.0))
    small = m.rescale(difference, I8, 0.7, zero_out=127)
    exponentials = m.op("TABLE", small, m.const(I8, np.round(127 * np.exp(np.arange(-255, 1) / 40))))
    total = m.op("REDUCE_SUM", m.rescale(exponentials, I32, 1.0), axis=3)
    part = m.op("INTDIV", m.op("LOGICAL_LEFT_SHIFT", m.rescale(exponentials, I32, 1.0), m.const(I32, [[[[9]]]])), total)
    return m.rescale(part, I8, 1.0, zero_out=-128)
