"""Kernels of whole operators: the reference model's results, bit for bit, on the host and on QEMU's Cortex-M."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_compiler import WARNINGS

from arm_cortex_m.kernels import Call, calls
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require
from kernel_program import MACHINES, Case, wrong_cases

I8, I32 = DType.INT8, DType.INT32
SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16+doubleround")
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
    **attrs: Any,
) -> Graph:
    """A CONV2D, or a DEPTHWISE_CONV2D with a multiplier, its RESCALE, and a CLAMP."""
    graph = Graph()
    x = graph.input("x", shape, I8)
    places = (*kernel, shape[3], depthwise) if depthwise else (outputs, *kernel, shape[3])
    weights = RNG.integers(*weights_of, places, endpoint=True).astype(np.int8)
    outputs = shape[3] * depthwise if depthwise else outputs
    biases = RNG.integers(-3000, 3000, outputs).astype(np.int32)
    operands = [x, graph.constant(weights, I8), graph.constant(biases, I32)]
    operands += [zero(graph, I8, zeros[0]), zero(graph, I8)]
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
}  # fmt: skip


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
    graph, i16, i48 = Graph(), DType.INT16, DType.INT48
    x = graph.input("x", shape, i16)
    places = (*kernel, shape[3], outputs) if depthwise else (outputs, *kernel, shape[3])
    weights = RNG.integers(*weights_of, places, endpoint=True).astype(np.int8)
    count = shape[3] * outputs if depthwise else outputs
    operands = [x, graph.constant(weights, I8), graph.constant(RNG.integers(-90000, 90000, count), i48)]
    operands += [graph.constant(np.zeros(1, np.int16), i16), zero(graph, I8)]
    windows = {"pad": pad, "stride": stride, "dilation": dilation, "acc_type": i48}
    y = graph.append("DEPTHWISE_CONV2D" if depthwise else "CONV2D", operands, windows).output
    factors = [graph.constant(np.array(narrow[:1], np.int16), i16), graph.constant(np.array(narrow[1:], np.int8), I8)]
    ends = [graph.constant(np.zeros(1, np.int64), i48), zero(graph, I32)]
    y = graph.append("RESCALE", [y, *factors, *ends], {"output_dtype": I32, "scale32": False}).output
    depth = kernel[0] * kernel[1] * (1 if depthwise else shape[3])
    y = rescaled(graph, y, 0, 0.6 / depth**0.5 / 73, output_dtype=i16, **attrs)
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
    "int16, depthwise of one channel": wide((1, 4, 5, 1), 6, (3, 3), pad=AROUND, depthwise=True, clamp=(0, 32767)),
}


def scale_up(graph: Graph, x: Tensor, zero_point: int, multiplier: int, shift: int, **attrs: Any) -> Tensor:
    """A RESCALE of int8 to int32."""
    factors = graph.constant(np.array([multiplier], np.int32), I32), graph.constant(np.array([shift], np.int8), I8)
    operands = [x, *factors, zero(graph, I8, zero_point), zero(graph, I32)]
    return graph.append("RESCALE", operands, {"output_dtype": I32, "scale32": True, **attrs}).output


def binary(
    name: str,
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((1, 3, 5, 7), (1, 3, 5, 7)),
    factors: tuple[tuple[int, int], tuple[int, int]] = ((2**30, 11), (1358034958, 12)),
    out: tuple[int, int] = (1482525670, 50),
    zeros: tuple[int, int, int] = (22, -33, 5),
    clamp: tuple[int, int] | None = None,
    same: bool = False,
) -> Graph:
    """An operator between the RESCALEs of two inputs, or of one twice, and one behind."""
    graph = Graph()
    inputs = [graph.input(f"x{index}", shape, I8) for index, shape in enumerate(shapes[: 2 - same])]
    scaled = [scale_up(graph, x, z, *f) for x, z, f in zip((inputs * 2)[:2], zeros[:2], factors, strict=True)]
    operands = [*scaled, zero(graph, I8)] if name == "MUL" else scaled
    y = rescaled(graph, graph.append(name, operands, {}).output, zeros[2], [out[0]], out[1])
    if clamp is not None:
        y = graph.append("CLAMP", [y], {"min_val": clamp[0], "max_val": clamp[1]}).output
    graph.outputs.append(y)
    return graph


ONE = (2**30, 30)
BINARY: dict[str, Graph] = {
    "ADD": binary("ADD"),
    "ADD, zero points": binary("ADD", zeros=(-128, 127, -128)),
    "ADD, clamp": binary("ADD", clamp=(-100, 7)),
    "ADD of one": binary("ADD", same=True),
    "SUB": binary("SUB", zeros=(-128, 127, 0)),
    "SUB of channels": binary("SUB", ((2, 3, 4, 9), (1, 1, 1, 9))),
    "ADD of places": binary("ADD", ((1, 3, 4, 5), (1, 3, 4, 1))),
    "ADD of a number": binary("ADD", ((1, 1, 1, 1), (1, 3, 4, 5))),
    "MUL": binary("MUL", factors=(ONE, ONE), out=(1213636613, 37)),
    "MUL of images": binary("MUL", ((3, 2, 2, 5), (3, 1, 1, 1)), (ONE, ONE), (1213636613, 37), (-128, 127, 3)),
    "MAXIMUM": binary("MAXIMUM", out=(1482525670, 50)),
    "MINIMUM": binary("MINIMUM", out=(1482525670, 50), zeros=(-128, -128, -30)),
    "ADD of few factors": binary("ADD", factors=((2**31 - 1, 33), (2**30, 33)), out=(2**31 - 1, 31)),
}


def pool(
    name: str,
    shape: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    pad: tuple[int, int, int, int] = (0, 0, 0, 0),
    zeros: tuple[int, int] = (-7, 12),
) -> Graph:
    graph = Graph()
    x = graph.input("x", shape, I8)
    attrs: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad}
    operands = [x]
    if name == "AVG_POOL2D":
        operands += [zero(graph, I8, zeros[0]), zero(graph, I8, zeros[1])]
        attrs["acc_type"] = I32
    graph.outputs.append(graph.append(name, operands, attrs).output)
    return graph


NONE = (0, 0, 0, 0)
POOL: dict[str, Graph] = {
    **{f"{name} {kind}": pool(name, shape, kernel, stride, pad) for name in ("AVG_POOL2D", "MAX_POOL2D")
       for kind, shape, kernel, stride, pad in (
           ("2x2", (1, 6, 4, 16), (2, 2), (2, 2), NONE),
           ("of odd channels", (2, 5, 4, 13), (3, 2), (2, 2), NONE),
           ("padded", (1, 5, 6, 5), (3, 3), (1, 1), AROUND),
           ("padded, steps", (1, 6, 6, 35), (3, 3), (2, 2), (0, 1, 1, 0)),
           ("of one place", (1, 3, 3, 3), (1, 1), (1, 1), NONE),
           ("of all", (1, 9, 7, 6), (9, 7), (1, 1), NONE),
       )},
    "AVG_POOL2D, zero points": pool("AVG_POOL2D", (1, 4, 4, 6), (2, 2), zeros=(-128, -100)),
    "AVG_POOL2D of many": pool("AVG_POOL2D", (1, 16, 17, 21), (16, 16), zeros=(3, 0)),
    "AVG_POOL2D, least": pool("AVG_POOL2D", (1, 4, 4, 6), (3, 3), zeros=(127, 100)),
}  # fmt: skip


def matmul(
    shape: tuple[int, int, int], width: int, zeros: tuple[int, int, int] = (3, -7, 12), scale: float = 0.0, **attrs: Any
) -> Graph:
    graph = Graph()
    a = graph.input("a", shape, I8)
    b = graph.input("b", (shape[0], shape[2], width), I8)
    operands = [a, b, zero(graph, I8, zeros[0]), zero(graph, I8, zeros[1])]
    sums = graph.append("MATMUL", operands, {"output_dtype": I32}).output
    graph.outputs.append(rescaled(graph, sums, zeros[2], scale or 0.6 / shape[2] ** 0.5 / 73, one=True, **attrs))
    return graph


MATMUL: dict[str, Graph] = {
    "MATMUL": matmul((2, 6, 16), 8),
    "MATMUL of odd sizes": matmul((3, 5, 13), 7, (-128, 127, 100), 0.0005),
    "MATMUL of few": matmul((1, 2, 3), 3, (127, -128, 100), 0.002),
    "MATMUL of a row": matmul((1, 1, 50), 11, (0, 5, 4)),
    "MATMUL of columns": matmul((2, 7, 70), 1, (5, 0, 4)),
    "MATMUL, zero points of 0": matmul((1, 4, 33), 10, (0, 0, 0)),
    "MATMUL, large factors": matmul((1, 4, 5), 6, scale=0.4),
}


def reduced(
    name: str,
    shape: tuple[int, ...],
    *axes: int,
    before: tuple[int, int] = ONE,
    scale: tuple[int, int] = (1500000000, 33),
    zeros: tuple[int, int] = (-3, 5),
) -> Graph:
    """A reduction along axes; a sum stands between RESCALEs."""
    graph = Graph()
    x = graph.input("x", shape, I8)
    x = scale_up(graph, x, zeros[0], *before) if name == "REDUCE_SUM" else x
    for axis in axes:
        x = graph.append(name, [x], {"axis": axis}).output
    graph.outputs.append(rescaled(graph, x, zeros[1], [scale[0]], scale[1]) if name == "REDUCE_SUM" else x)
    return graph


REDUCED: dict[str, Graph] = {
    **{f"{name} of {shape}, {axis}": reduced(name, shape, axis) for name in ("REDUCE_MAX", "REDUCE_MIN")
       for shape, axis in (((3, 40), 1), ((2, 5, 19), 1), ((3, 5), 0), ((2, 3, 1, 7), 2), ((2, 2, 3), 2))},
    "REDUCE_SUM of a row": reduced("REDUCE_SUM", (4, 50), 1),
    "REDUCE_SUM of columns": reduced("REDUCE_SUM", (2, 6, 13), 1, zeros=(-128, -128)),
    "REDUCE_SUM of images": reduced("REDUCE_SUM", (2, 5, 4, 6), 1, 2, scale=(1700000000, 35), zeros=(127, 100)),
    "REDUCE_SUM of a row, powers": reduced("REDUCE_SUM", (3, 7), 1, before=(2**30, 20), scale=(2**30, 42)),
}  # fmt: skip


def transposed(shape: tuple[int, ...], *perms: int) -> Graph:
    graph = Graph()
    x = graph.input("x", shape, I8)
    graph.outputs.append(graph.append("TRANSPOSE", [x], {"perms": perms}).output)
    return graph


TRANSPOSED: dict[str, Graph] = {
    "TRANSPOSE to channels last": transposed((1, 3, 5, 7), 0, 2, 3, 1),
    "TRANSPOSE to channels first": transposed((2, 5, 7, 3), 0, 3, 1, 2),
    "TRANSPOSE of a matrix": transposed((17, 21), 1, 0),
    "TRANSPOSE of heads": transposed((2, 5, 3, 18), 0, 2, 1, 3),
    "TRANSPOSE of rows": transposed((4, 3, 5), 1, 0, 2),
}


def row_of(*ops: tuple[str, Any], shape: tuple[int, ...] = (2, 3, 17)) -> Graph:
    """Operators in a row: RESCALE to int32 or int8, TABLE, CLAMP, and those with a constant."""
    graph = Graph()
    x = graph.input("x", shape, I8)
    for name, value in ops:
        if name == "up":
            x = scale_up(graph, x, *value)
        elif name == "down":
            x = rescaled(graph, x, value[0], [value[1]], value[2])
        elif name == "TABLE":
            x = graph.append("TABLE", [x, graph.constant(np.array(value, np.int8), I8)], {}).output
        elif name == "CLAMP":
            x = graph.append("CLAMP", [x], {"min_val": value[0], "max_val": value[1]}).output
        else:
            constant = graph.constant(np.array(value, np.int32).reshape((1,) * len(shape)), I32)
            operands = [constant, x] if name.startswith("from ") else [x, constant]
            operands += [zero(graph, I8)] if name.endswith("MUL") else []
            x = graph.append(name.removeprefix("from "), operands, {}).output
    graph.outputs.append(x)
    return graph


FALL = list(range(127, -129, -1))
TABLE: dict[str, Graph] = {
    "TABLE": row_of(("TABLE", FALL)),
    "TABLE of few": row_of(("TABLE", FALL), shape=(3,)),
    "CLAMP": row_of(("CLAMP", (-5, 77))),
    "RESCALE and TABLE": row_of(("down", (4, 1900000000, 31)), ("TABLE", FALL), ("CLAMP", (-100, 100))),
    "product with a number": row_of(("up", (-128, *ONE)), ("MUL", 77), ("down", (-3, 1100000000, 36))),
    "difference from a number": row_of(("up", (3, 1500000000, 20)), ("from SUB", 99999), ("down", (0, 1100000000, 40))),
    "greatest and sum": row_of(("up", (0, *ONE)), ("MAXIMUM", -7), ("MINIMUM", 50), ("ADD", 9), ("down", (1, *ONE))),
}
ROWS = CONV | DEPTHWISE | WIDE | BINARY | POOL | MATMUL | REDUCED | TRANSPOSED | TABLE


def inputs_of(graph: Graph) -> list[np.ndarray[Any, Any]]:
    out = []
    for tensor in graph.inputs:
        kind = np.iinfo(numpy_dtype(tensor.dtype))
        array = RNG.integers(kind.min, kind.max, tensor.shape, endpoint=True).astype(kind.dtype)
        array.flat[:2] = kind.min, kind.max
        out.append(array)
    return out


def case_of(graph: Graph) -> Case:
    (call,) = steps = calls(graph)
    assert isinstance(call, Call), steps
    assert len(call.ops) == len(list(graph.ops))
    arrays = inputs_of(graph)
    (wanted,) = reference_model.run(serialize(graph, SPEC), arrays)
    assert wanted.min() < wanted.max(), "of a constant, a comparison says nothing"
    given = dict(zip(graph.inputs, arrays, strict=True))
    return Case(call, [given[tensor] for tensor in call.inputs], wanted)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {name: case_of(graph) for name, graph in ROWS.items()}


def test_kernels_are_the_reference_models(cases: dict[str, Case], tmp_path: Path) -> None:
    require("gcc")
    assert wrong_cases(tmp_path, cases, WARNINGS) == []


@pytest.mark.parametrize("core", MACHINES)
def test_they_are_on_a_core(core: str, cases: dict[str, Case], tmp_path: Path) -> None:
    require("arm-none-eabi-gcc", "qemu-system-arm")
    assert wrong_cases(tmp_path, cases, WARNINGS, MACHINES[core]) == []


OTHERS: dict[str, Graph] = {
    "sums that do not fit when shifted": convolution((1, 2, 2, 64), 4, scale=[2**30], shift=[20]),
    "int16, sums of more than 32 bits": wide((1, 1, 1, 700), 2, weights_of=(100, 127)),
    "int16, sums that are halved": wide((1, 2, 2, 8), 3, narrow=(16384, 15)),
    "int16, several results of a channel": wide((1, 3, 3, 4), 2, (2, 2), depthwise=True),
    "shifts too far apart": convolution((1, 2, 2, 4), 2, scale=[2**30, 2**30], shift=[31, 62]),
    "rounded twice, large factors": convolution(
        (1, 2, 2, 4), 2, scale=[2**30], shift=[32], rounding_mode="DOUBLE_ROUND"
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay_operators(name: str) -> None:
    """Factors that the kernels do not compute exactly."""
    assert calls(OTHERS[name]) == list(OTHERS[name].ops)


def test_a_sum_that_is_read_twice_stays() -> None:
    graph = convolution((1, 2, 2, 4), 3)
    graph.outputs.append(next(iter(graph.ops)).output)
    assert calls(graph) == list(graph.ops)
