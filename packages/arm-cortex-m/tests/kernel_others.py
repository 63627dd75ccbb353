"""Graphs of sums, pools, products, reductions, moves, tables and softmax, for the kernels of whole operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernel_convolutions import AROUND, I8, I16, I32, I48, narrowed, rescaled, zero

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor


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
    dtype: DType = I8,
) -> Graph:
    graph = Graph()
    x = graph.input("x", shape, dtype)
    attrs: dict[str, Any] = {"kernel": kernel, "stride": stride, "pad": pad}
    operands = [x]
    if name == "AVG_POOL2D":
        operands += [graph.constant(np.array([each if dtype is I8 else 0]), dtype) for each in zeros]
        attrs["acc_type"] = I32
    graph.outputs.append(graph.append(name, operands, attrs).output)
    return graph


NONE = (0, 0, 0, 0)
POOL: dict[str, Graph] = {
    **{f"{'' if dtype is I8 else 'int16, '}{name} {kind}": pool(name, shape, kernel, stride, pad, dtype=dtype)
       for dtype in (I8, I16) for name in ("AVG_POOL2D", "MAX_POOL2D")
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


def matmul_wide(
    shape: tuple[int, int, int], width: int, narrow: tuple[int, int], scale: float, clamp: tuple[int, int] | None = None
) -> Graph:
    """A MATMUL of int16, the RESCALEs to int32 and to int16, and a CLAMP."""
    graph = Graph()
    operands = [graph.input("a", shape, I16), graph.input("b", (shape[0], shape[2], width), I16)]
    operands += [graph.constant(np.zeros(1, np.int16), I16) for _ in range(2)]
    sums = narrowed(graph, graph.append("MATMUL", operands, {"output_dtype": I48}).output, narrow)
    y = rescaled(graph, sums, 0, scale, one=True, output_dtype=I16)
    if clamp is not None:
        y = graph.append("CLAMP", [y], {"min_val": clamp[0], "max_val": clamp[1]}).output
    graph.outputs.append(y)
    return graph


MATMUL |= {
    "int16, MATMUL": matmul_wide((2, 6, 16), 8, (16384, 18), 0.0001),
    "int16, MATMUL of odd sizes": matmul_wide((3, 5, 13), 7, (16384, 18), 0.00012),
    "int16, MATMUL of a row": matmul_wide((1, 1, 50), 11, (8192, 20), 0.003, (-20000, 30000)),
    "int16, MATMUL of a column": matmul_wide((2, 7, 33), 1, (1, 7), 0.001),
    "int16, MATMUL of one": matmul_wide((2, 1, 1), 1, (16384, 14), 0.00002),
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


def moved(shape: tuple[int, ...], *perms: int) -> Graph:
    graph = Graph()
    x = graph.input("x", shape, I8)
    graph.outputs.append(graph.append("TRANSPOSE", [x], {"perms": perms}).output)
    return graph


TRANSPOSED: dict[str, Graph] = {
    "TRANSPOSE to channels last": moved((1, 3, 5, 7), 0, 2, 3, 1),
    "TRANSPOSE to channels first": moved((2, 5, 7, 3), 0, 3, 1, 2),
    "TRANSPOSE of a matrix": moved((17, 21), 1, 0),
    "TRANSPOSE of heads": moved((2, 5, 3, 18), 0, 2, 1, 3),
    "TRANSPOSE of rows": moved((4, 3, 5), 1, 0, 2),
    "TRANSPOSE of a row": moved((1, 9, 1), 2, 1, 0),
    "TRANSPOSE of none": moved((3, 1, 5), 0, 2, 1),
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


def softmaxed(
    shape: tuple[int, ...],
    zero_point: int = 7,
    ups: tuple[int, int, int] = (30, 30, 30),
    scale: float = 0.7,
    axis: int | None = None,
    swapped: bool = False,
) -> Graph:
    """A softmax as the compiler lowers it.

    Args:
        ups: shifts of the RESCALEs of the differences, and of the exponentials in the sum and in the products.
        scale: of the differences, in 8 bits.
        swapped: the operands of the product.
    """
    graph = Graph()
    axis, length = (len(shape) - 1, shape[-1]) if axis is None else (axis, shape[axis])
    x = graph.input("x", shape, I8)
    greatest = graph.append("REDUCE_MAX", [x], {"axis": axis}).output
    both = [scale_up(graph, each, zero_point, 2**30, ups[0]) for each in (x, greatest)]
    y = rescaled(graph, graph.append("SUB", both, {}).output, 127, scale / 2.0 ** (30 - ups[0]), one=True)
    numbers = np.round(255 * np.exp(np.arange(-255, 1) / 40)).astype(np.int64) - 128
    y = graph.append("TABLE", [y, graph.constant(numbers.astype(np.int8), I8)], {}).output
    total = graph.append("REDUCE_SUM", [scale_up(graph, y, -128, 2**30, ups[1])], {"axis": axis}).output
    total = rescaled(graph, total, -128, 0.9 / length / 2.0 ** (30 - ups[1]), one=True)
    inverse = np.minimum(127, np.round(9000 / np.arange(1, 257)) - 128).astype(np.int8)
    total = graph.append("TABLE", [total, graph.constant(inverse, I8)], {}).output
    factors = [scale_up(graph, y, -128, 2**30, ups[2]), scale_up(graph, total, -128, 2**30, 30)]
    product = graph.append("MUL", [*(factors[::-1] if swapped else factors), zero(graph, I8)], {}).output
    graph.outputs.append(rescaled(graph, product, -128, 1 / 255 / 2.0 ** (30 - ups[2]), one=True))
    return graph


SOFTMAX: dict[str, Graph] = {
    "softmax": softmaxed((3, 37)),
    "softmax of few": softmaxed((2, 3, 3), -128, swapped=True),
    "softmax of many": softmaxed((1, 300), 127, scale=0.2),
    "softmax, powers": softmaxed((2, 4, 16), 0, (29, 27, 28), axis=2),
    "softmax of columns of one": softmaxed((4, 21, 1), 3, axis=1),
}
ROWS = BINARY | POOL | MATMUL | REDUCED | TRANSPOSED | TABLE | SOFTMAX
