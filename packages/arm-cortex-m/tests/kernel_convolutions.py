"""Graphs of convolutions and the RESCALEs behind them, for the kernels of whole operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor

I4, I8, I16, I32, I48 = DType.INT4, DType.INT8, DType.INT16, DType.INT32, DType.INT48
RNG = np.random.default_rng(7)


def zero(graph: Graph, dtype: DType, value: int = 0) -> Tensor:
    return graph.constant(np.array([value], np.int32 if dtype is I32 else np.int8), dtype)


def rescaled(
    graph: Graph, x: Tensor, zero_point: int, scale: float | list[int], shift: int | list[int] = 0, **attrs: Any
) -> Tensor:
    """A RESCALE to int8, of a real factor for each channel, or of multipliers and shifts."""
    if isinstance(scale, list):
        multipliers, shifts = scale, shift if isinstance(shift, list) else [shift] * len(scale)
    else:
        count = x.shape[-1] if not attrs.get("one") else 1
        factors = [scale * (1 + index / count) for index in range(count)]
        exponents = [int(np.frexp(factor)[1]) for factor in factors]
        multipliers = [round(factor * 2.0 ** (31 - e) - 0.5) for factor, e in zip(factors, exponents, strict=True)]
        shifts = [31 - e for e in exponents]
    attrs.pop("one", None)
    operands = [
        x,
        graph.constant(np.array(multipliers, np.int32), I32),
        graph.constant(np.array(shifts, np.int8), I8),
        zero(graph, x.dtype),
        graph.constant(np.array([zero_point]), attrs.get("output_dtype", I8)),
    ]
    defaults = {"output_dtype": I8, "scale32": True, "per_channel": len(multipliers) > 1}
    return graph.append("RESCALE", operands, {**defaults, **attrs}).output


def convolution(
    shape: tuple[int, int, int, int],
    outputs: int,
    kernel: tuple[int, int] = (1, 1),
    *,
    stride: tuple[int, int] = (1, 1),
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: tuple[int, int] = (1, 1),
    zeros: tuple[int, int] = (3, -5),
    scale: float | list[int] = 0.0,
    shift: int | list[int] = 0,
    clamp: tuple[int, int] | None = None,
    depthwise: int = 0,
    weights_of: tuple[int, int] = (-127, 127),
    of: DType = I8,
    **attrs: Any,
) -> Graph:
    """A CONV2D, or a DEPTHWISE_CONV2D with a multiplier, its RESCALE, and a CLAMP.

    Args:
        of: the type of weights.
    """
    graph = Graph()
    x = graph.input("x", shape, I8)
    places = (*kernel, shape[3], depthwise) if depthwise else (outputs, *kernel, shape[3])
    weights = RNG.integers(*weights_of, places, endpoint=True).astype(np.int8)
    outputs = shape[3] * depthwise if depthwise else outputs
    biases = RNG.integers(-3000, 3000, outputs).astype(np.int32)
    operands = [x, graph.constant(weights, of), graph.constant(biases, I32)]
    operands += [zero(graph, I8, zeros[0]), zero(graph, of)]
    windows = {"pad": pad, "stride": stride, "dilation": dilation, "acc_type": I32}
    y = graph.append("DEPTHWISE_CONV2D" if depthwise else "CONV2D", operands, windows).output
    depth = kernel[0] * kernel[1] * (1 if depthwise else shape[3])
    scale = scale or 0.6 / depth**0.5 / 73
    y = rescaled(graph, y, zeros[1], scale, shift, **attrs)
    if clamp is not None:
        y = graph.append("CLAMP", [y], {"min_val": clamp[0], "max_val": clamp[1]}).output
    graph.outputs.append(y)
    return graph


def depthwise(shape: tuple[int, int, int, int], kernel: tuple[int, int], **attrs: Any) -> Graph:
    """A DEPTHWISE_CONV2D of one result for each channel, its RESCALE, and a CLAMP."""
    return convolution(shape, 0, kernel, depthwise=1, **attrs)


AROUND = (1, 1, 1, 1)
FALLING = [2**31 - 1 - 12345 * index for index in range(31)]
CONV: dict[str, Graph] = {
    "1x1": convolution((1, 5, 5, 16), 8),
    "1x1, odd channels": convolution((1, 3, 5, 13), 7, zeros=(-128, 127)),
    "1x1, one channel": convolution((1, 3, 3, 1), 5),
    "1x1, few results": convolution((1, 4, 3, 9), 3, zeros=(127, -128)),
    "1x1, one result": convolution((1, 2, 2, 20), 1),
    "1x1, two places": convolution((1, 1, 2, 33), 6),
    "linear": convolution((1, 1, 1, 70), 10),
    "linear, long": convolution((1, 1, 1, 643), 33, one=True),
    "linear of five": convolution((5, 1, 1, 31), 9),
    "linear to one": convolution((2, 1, 1, 70), 1),
    "linear to two": convolution((2, 1, 1, 33), 2),
    "linear to three, rounded twice": convolution((1, 1, 1, 18), 3, rounding_mode="DOUBLE_ROUND"),
    "linear of few to seven": convolution((1, 1, 1, 3), 7, zeros=(-128, 127)),
    "1x1, steps": convolution((1, 7, 7, 12), 8, stride=(2, 2)),
    "3x3": convolution((1, 6, 7, 16), 12, (3, 3), pad=AROUND),
    "3x3, two images": convolution((2, 5, 4, 3), 5, (3, 3), pad=AROUND, zeros=(-128, -128)),
    "3x3, steps": convolution((1, 8, 8, 5), 6, (3, 3), stride=(2, 2), pad=(0, 1, 1, 0)),
    "3x3, holes": convolution((1, 9, 8, 5), 4, (3, 3), dilation=(2, 3), pad=(2, 2, 3, 2)),
    "10x4": convolution((1, 14, 9, 1), 8, (10, 4), stride=(2, 2), pad=(4, 4, 1, 2)),
    "1x5 and far padding": convolution((1, 3, 4, 6), 4, (1, 5), pad=(2, 3, 6, 7), zeros=(127, 0)),
    "one factor": convolution((1, 4, 4, 8), 8, (2, 2), one=True),
    "clamp": convolution((1, 4, 4, 8), 8, (2, 2), clamp=(-20, 33)),
    "rounded twice": convolution((1, 4, 4, 8), 8, (2, 2), rounding_mode="DOUBLE_ROUND"),
    "rounded twice, long": convolution(
        (1, 4, 1, 40), 5, rounding_mode="DOUBLE_ROUND", scale=[2**30, 0, 1, 2**31 - 1, 77], shift=[38, 33, 33, 40, 34]
    ),
    "large factors": convolution((1, 4, 4, 3), 4, weights_of=(-3, 3), scale=0.4),
    "factors above one": convolution(
        (1, 4, 4, 3), 4, weights_of=(-1, 1), scale=[2**30, 2**31 - 1, 5, 0], shift=[29, 30, 31, 62]
    ),
    "far shifts": convolution((1, 4, 4, 3), 4, scale=[2**31 - 1, 2**31 - 1, 2**30, 1], shift=[33, 45, 62, 38]),
    "all shifts": convolution((1, 6, 5, 4), 31, scale=FALLING, shift=[*range(33, 63), 62]),
    "to int16": convolution((1, 5, 5, 16), 8, zeros=(3, 0), scale=0.01, output_dtype=DType.INT16),
    "to int16, 3x3": convolution(
        (2, 5, 6, 5), 6, (3, 3), pad=AROUND, zeros=(-128, 0), scale=0.01, output_dtype=DType.INT16, clamp=(-900, 20000)
    ),
    "to int16, linear": convolution((1, 1, 1, 70), 10, zeros=(127, 0), scale=0.01, one=True, output_dtype=DType.INT16),
    "least weights": convolution((1, 3, 3, 16), 4, weights_of=(-128, -128), zeros=(5, 7)),
}  # fmt: skip
DEPTHWISE: dict[str, Graph] = {
    "depthwise 3x3": depthwise((1, 6, 7, 16), (3, 3), pad=AROUND),
    "depthwise 3x3, steps": depthwise((1, 8, 8, 32), (3, 3), stride=(2, 2), pad=(0, 1, 0, 1)),
    "depthwise 3x3, two images": convolution((2, 5, 6, 8), 0, (3, 3), pad=AROUND, depthwise=1, zeros=(-128, 127)),
    "depthwise, odd channels": convolution((1, 5, 5, 13), 0, (3, 3), pad=AROUND, depthwise=1, zeros=(127, -128)),
    "depthwise, many odd channels": depthwise((1, 5, 4, 35), (3, 3), pad=AROUND),
    "depthwise, four channels": depthwise((1, 5, 7, 4), (3, 2), pad=(1, 1, 1, 0)),
    "depthwise, two channels": depthwise((1, 3, 9, 2), (1, 2)),
    "depthwise, narrow": depthwise((1, 6, 3, 8), (3, 3)),
    "depthwise of even taps": depthwise((1, 6, 4, 16), (2, 4)),
    "depthwise, 5x5 with holes": depthwise((1, 12, 11, 6), (5, 3), dilation=(2, 3), pad=(3, 2, 4, 1)),
    "depthwise, far padding": depthwise((1, 2, 3, 5), (3, 3), stride=(3, 3), pad=(5, 5, 4, 5)),
    "depthwise, padding alone": depthwise((1, 2, 2, 16), (1, 1), pad=(1, 0, 3, 1)),
    "depthwise, big steps": depthwise((1, 11, 11, 8), (2, 2), stride=(3, 3)),
    "depthwise, least weights": depthwise((1, 4, 4, 16), (3, 3), weights_of=(-128, -128), pad=AROUND, zeros=(5, 7)),
    "depthwise, small weights": depthwise((1, 4, 4, 16), (3, 3), weights_of=(-5, 5), scale=0.3),
    "depthwise, clamp": depthwise((1, 4, 4, 16), (3, 3), clamp=(-20, 33)),
    "depthwise, one factor": depthwise((1, 4, 4, 24), (3, 3), one=True),
    "depthwise, rounded twice": depthwise((1, 4, 4, 20), (3, 3), rounding_mode="DOUBLE_ROUND"),
    "depthwise of one channel": convolution((1, 4, 5, 1), 0, (3, 3), pad=AROUND, depthwise=6),
    "depthwise, all shifts": depthwise((1, 3, 3, 30), (2, 2), scale=FALLING[:30], shift=[*range(33, 63)]),
    "depthwise by 2": convolution((1, 6, 5, 8), 0, (3, 3), pad=AROUND, depthwise=2, zeros=(-128, 127)),
    "depthwise by 3": convolution((2, 4, 5, 7), 0, (3, 2), pad=(1, 1, 0, 1), stride=(1, 2), depthwise=3),
    "depthwise by 4, few channels": convolution((1, 5, 9, 2), 0, (3, 3), pad=AROUND, depthwise=4, clamp=(-50, 60)),
    "depthwise by 19": convolution((1, 3, 4, 3), 0, (2, 2), dilation=(1, 2), depthwise=19),
}  # fmt: skip


FOUR_BITS: dict[str, Graph] = {
    f"4 bits, {name}": convolution(*sizes, **{"weights_of": (-7, 7), "of": I4, "scale": 0.01, **attrs})
    for name, sizes, attrs in (
        ("1x1", ((1, 5, 5, 16), 8), {}),
        ("1x1, odd channels", ((1, 3, 5, 13), 7), {"zeros": (-128, 127)}),
        ("1x1, two places", ((1, 1, 2, 33), 6), {}),
        ("linear", ((1, 1, 1, 643), 33), {"one": True, "scale": 0.003}),
        ("linear, long", ((1, 1, 1, 4097), 6), {"scale": 0.001}),
        ("linear of five", ((5, 1, 1, 31), 9), {"clamp": (-20, 33)}),
        ("linear to one", ((2, 1, 1, 70), 1), {"rounding_mode": "DOUBLE_ROUND", "scale": 0.004}),
        ("3x3, two images", ((2, 5, 4, 3), 5, (3, 3)), {"pad": AROUND, "zeros": (-128, -128)}),
        ("3x3, several groups", ((1, 6, 7, 57), 18, (3, 3)), {"pad": AROUND, "scale": 0.003}),
        ("10x4, steps", ((1, 14, 9, 1), 8, (10, 4)), {"stride": (2, 2), "pad": (4, 4, 1, 2)}),
        ("depthwise", ((1, 5, 5, 13), 0, (3, 3)), {"pad": AROUND, "depthwise": 1}),
        ("depthwise of one channel", ((1, 4, 5, 1), 0, (3, 3)), {"pad": AROUND, "depthwise": 6}),
        ("to int16", ((1, 5, 5, 16), 8), {"zeros": (3, 0), "scale": 0.2, "output_dtype": DType.INT16}),
    )
}  # fmt: skip


def narrowed(graph: Graph, sums: Tensor, factor: tuple[int, int]) -> Tensor:
    """The RESCALE of sums of 48 bits to int32."""
    factors = [graph.constant(np.array(factor[:1], np.int16), I16), graph.constant(np.array(factor[1:], np.int8), I8)]
    ends = [graph.constant(np.zeros(1, np.int64), I48), zero(graph, I32)]
    return graph.append("RESCALE", [sums, *factors, *ends], {"output_dtype": I32, "scale32": False}).output


def wide(
    shape: tuple[int, int, int, int],
    outputs: int,
    kernel: tuple[int, int] = (1, 1),
    *,
    stride: tuple[int, int] = (1, 1),
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: tuple[int, int] = (1, 1),
    depthwise: bool = False,
    clamp: tuple[int, int] | None = None,
    weights_of: tuple[int, int] = (-127, 127),
    narrow: tuple[int, int] = (16384, 14),
    **attrs: Any,
) -> Graph:
    """A convolution of int16, the RESCALEs to int32 and to int16, and a CLAMP.

    Args:
        outputs: channels; of a depthwise convolution, for each of the input's.
    """
    graph = Graph()
    x = graph.input("x", shape, I16)
    places = (*kernel, shape[3], outputs) if depthwise else (outputs, *kernel, shape[3])
    weights = RNG.integers(*weights_of, places, endpoint=True).astype(np.int8)
    count = shape[3] * outputs if depthwise else outputs
    operands = [x, graph.constant(weights, I8), graph.constant(RNG.integers(-90000, 90000, count), I48)]
    operands += [graph.constant(np.zeros(1, np.int16), I16), zero(graph, I8)]
    windows = {"pad": pad, "stride": stride, "dilation": dilation, "acc_type": I48}
    y = graph.append("DEPTHWISE_CONV2D" if depthwise else "CONV2D", operands, windows).output
    y = narrowed(graph, y, narrow)
    depth = kernel[0] * kernel[1] * (1 if depthwise else shape[3])
    y = rescaled(graph, y, 0, 0.6 / depth**0.5 / 73, output_dtype=I16, **attrs)
    if clamp is not None:
        y = graph.append("CLAMP", [y], {"min_val": clamp[0], "max_val": clamp[1]}).output
    graph.outputs.append(y)
    return graph


WIDE: dict[str, Graph] = {
    "int16, 1x1": wide((1, 5, 5, 16), 8),
    "int16, 1x1, odd channels": wide((1, 3, 5, 13), 7),
    "int16, 1x1, few results": wide((1, 4, 3, 9), 3),
    "int16, 1x1, steps": wide((1, 7, 7, 12), 8, stride=(2, 2)),
    "int16, linear": wide((1, 1, 1, 70), 10),
    "int16, linear of five": wide((5, 1, 1, 31), 9, one=True),
    "int16, linear of one": wide((3, 1, 1, 1), 6),
    "int16, 3x3": wide((1, 6, 7, 16), 12, (3, 3), pad=AROUND),
    "int16, 3x3, two images": wide((2, 5, 4, 3), 5, (3, 3), pad=AROUND),
    "int16, 3x3, holes": wide((1, 9, 8, 5), 4, (3, 3), dilation=(2, 3), pad=(2, 2, 3, 2)),
    "int16, 10x4": wide((1, 14, 9, 1), 8, (10, 4), stride=(2, 2), pad=(4, 4, 1, 2)),
    "int16, far padding": wide((1, 3, 4, 6), 4, (1, 5), pad=(2, 3, 6, 7)),
    "int16, clamp": wide((1, 4, 4, 8), 8, (2, 2), clamp=(0, 20000)),
    "int16, rounded twice": wide((1, 4, 4, 8), 8, (2, 2), rounding_mode="DOUBLE_ROUND"),
    "int16, least weights": wide((1, 3, 3, 16), 4, weights_of=(-128, -128)),
    "int16, depthwise 3x3": wide((1, 6, 7, 16), 1, (3, 3), pad=AROUND, depthwise=True),
    "int16, depthwise, two images, steps": wide((2, 7, 7, 8), 1, (3, 3), stride=(2, 2), pad=AROUND, depthwise=True),
    "int16, depthwise, odd channels": wide((1, 5, 5, 13), 1, (3, 2), pad=(1, 1, 1, 0), depthwise=True),
    "int16, depthwise, nine channels": wide((1, 4, 4, 9), 1, (2, 2), depthwise=True, one=True),
    "int16, depthwise, holes": wide((1, 12, 11, 6), 1, (5, 3), dilation=(2, 3), pad=(3, 2, 4, 1), depthwise=True),
    "int16, depthwise, far padding": wide((1, 2, 3, 5), 1, (3, 3), stride=(3, 3), pad=(5, 5, 4, 5), depthwise=True),
    "int16, depthwise by 2": wide((1, 5, 4, 9), 2, (3, 3), pad=AROUND, depthwise=True),
    "int16, depthwise by 3": wide((2, 4, 4, 5), 3, (2, 2), stride=(2, 1), depthwise=True, one=True),
    "int16, depthwise by 11": wide((1, 3, 3, 4), 11, (3, 2), pad=(1, 1, 1, 0), depthwise=True, clamp=(-9000, 9000)),
    "int16, depthwise of one channel": wide((1, 4, 5, 1), 6, (3, 3), pad=AROUND, depthwise=True, clamp=(0, 32767)),
}


def transposed(
    shape: tuple[int, int, int, int],
    outputs: int,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    out_pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    *,
    dtype: DType = I8,
    zeros: tuple[int, int] = (3, -5),
    clamp: tuple[int, int] | None = None,
    **attrs: Any,
) -> Graph:
    """A TRANSPOSE_CONV2D, its RESCALEs, and a CLAMP."""
    graph, narrow = Graph(), dtype is I8
    x = graph.input("x", shape, dtype)
    weights = graph.constant(RNG.integers(-127, 128, (outputs, *kernel, shape[3])).astype(np.int8), I8)
    biases = graph.constant(
        RNG.integers(-3000, 3000, outputs).astype(np.int32 if narrow else np.int64), I32 if narrow else I48
    )
    ends = [zero(graph, I8, zeros[0]) if narrow else graph.constant(np.zeros(1, np.int16), I16), zero(graph, I8)]
    steps = {"out_pad": out_pad, "stride": stride, "acc_type": I32 if narrow else I48}
    y = graph.append("TRANSPOSE_CONV2D", [x, weights, biases, *ends], steps).output
    y = y if narrow else narrowed(graph, y, (16384, 14))
    scale = 0.9 / (kernel[0] * kernel[1] * shape[3]) ** 0.5 / 73
    y = rescaled(graph, y, zeros[1] if narrow else 0, scale, output_dtype=dtype, **attrs)
    if clamp is not None:
        y = graph.append("CLAMP", [y], {"min_val": clamp[0], "max_val": clamp[1]}).output
    graph.outputs.append(y)
    return graph


TRANSPOSED_CONV: dict[str, Graph] = {
    f"{'int16, ' if dtype is I16 else ''}transposed {name}": transposed(*sizes, dtype=dtype, **attrs)
    for dtype in (I8, I16)
    for name, sizes, attrs in (
        ("2x2 by 2", ((1, 3, 5, 8), 6, (2, 2), (2, 2)), {}),
        ("3x3 by 2", ((1, 4, 3, 5), 7, (3, 3), (2, 2), (-1, 0, -1, 0)), {"zeros": (-128, 127)}),
        ("3x3", ((2, 3, 4, 3), 4, (3, 3), (1, 1), (-1, -1, -1, -1)), {}),
        ("4x3 by 2 and 1", ((1, 3, 3, 4), 5, (4, 3), (2, 1), (-1, -1, 0, 0)), {"zeros": (127, -128)}),
        ("1x1 by 3", ((1, 3, 2, 6), 4, (1, 1), (3, 3), (0, 1, 0, 2)), {}),
        ("2x5 by 3", ((2, 2, 3, 3), 3, (2, 5), (3, 3), (2, 1, 1, -3)), {"clamp": (-90, 100)}),
        ("of a row, cut", ((1, 1, 5, 4), 4, (1, 3), (1, 3), (0, 0, -2, 2)), {"one": True}),
        ("to one column", ((1, 2, 1, 4), 5, (3, 3), (4, 4), (0, 0, -1, -1)), {"rounding_mode": "DOUBLE_ROUND"}),
    )
}  # fmt: skip
