"""Operators whose results gather up numbers along axes: reductions, matrix products, and what looks around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arm_tosa_core.tosa.ir import DType, Op

from .kernel import C_TYPES, Kernel, constant, number
from .loops import Statement, Walk, loop, nest, row_major

#: The result so far and another element.
_REDUCTIONS: Mapping[str, str] = {
    "REDUCE_ALL": "result & {0}",
    "REDUCE_ANY": "result | {0}",
    "REDUCE_MAX": "tosa_max(result, {0})",
    "REDUCE_MIN": "tosa_min(result, {0})",
    "REDUCE_SUM": "tosa_add(result, {0})",
}


def reduce(op: Op) -> Kernel:
    """One of the reductions along an axis."""
    c_type = C_TYPES[op.output.dtype]

    def statement(index: Sequence[str]) -> list[str]:
        step = _REDUCTIONS[op.name].format(_along(op, index[1]))
        return [
            f"{c_type} result = input0[{index[1]}];",
            "",
            *loop("r", op.inputs[0].shape[op.attrs["axis"]], [f"result = ({c_type})({step});"], first=1),
            f"output[{index[0]}] = result;",
        ]

    return _by_axis(op, statement)


def argmax(op: Op) -> Kernel:
    """The first of the greatest along an axis."""

    def statement(index: Sequence[str]) -> list[str]:
        element = _along(op, index[1])
        return [
            f"{C_TYPES[op.inputs[0].dtype]} greatest = input0[{index[1]}];",
            "",
            f"output[{index[0]}] = 0;",
            *loop(
                "r",
                op.inputs[0].shape[op.attrs["axis"]],
                [
                    f"if ({element} > greatest) {{",
                    f"    greatest = {element};",
                    f"    output[{index[0]}] = (int32_t)r;",
                    "}",
                ],
                first=1,
            ),
        ]

    return _by_axis(op, statement)


def _by_axis(op: Op, statement: Statement) -> Kernel:
    shape, axis = op.inputs[0].shape, op.attrs["axis"]
    kept = tuple(1 if each == axis else size for each, size in enumerate(shape))
    walks = [Walk(row_major(kept)), Walk(row_major(shape))]
    return Kernel((0,), tuple(nest(kept, walks, statement)))


def _along(op: Op, index: str) -> str:
    stride = row_major(op.inputs[0].shape)[op.attrs["axis"]]
    step = "r" if stride == 1 else f"{stride}u * r"
    return f"input0[{step}]" if index == "0" else f"input0[{index} + {step}]"


def matmul(op: Op) -> Kernel:
    """Products of matrices, one of each batch; those of INT16 are summed with 64 bits, of which TOSA has 48."""
    batches, height, depth = op.inputs[0].shape
    width = op.inputs[1].shape[2]
    zero_points = [int(constant(op.inputs[position])[0]) for position in (2, 3)]
    c_type = C_TYPES[op.output.dtype]
    widened = "(int64_t)" if op.output.dtype is DType.INT48 else ""

    def factor(operand: int, index: str) -> str:
        zero_point = zero_points[operand]
        return f"input{operand}[{index}]" if not zero_point else f"(input{operand}[{index}] - {number(zero_point)})"

    def statement(index: Sequence[str]) -> list[str]:
        a = factor(0, f"{index[1]} + r")
        b = factor(1, f"{index[2]} + {width}u * r")
        return [
            f"{c_type} sum = 0;",
            "",
            *loop("r", depth, [f"sum += {widened}{a} * {b};"]),
            f"output[{index[0]}] = sum;",
        ]

    walks = [
        Walk(row_major((batches, height, width))),
        Walk((height * depth, depth, 0)),
        Walk((depth * width, 0, 1)),
    ]
    return Kernel((0, 1), tuple(nest((batches, height, width), walks, statement)))


def resize(op: Op) -> Kernel:
    """RESIZE: the nearest pixel, or the weighted sum of four."""
    batches, in_height, in_width, channels = op.inputs[0].shape
    _, height, width, _ = op.output.shape
    up_y, down_y, up_x, down_x = constant(op.inputs[1]).tolist()
    offset_y, offset_x = constant(op.inputs[2]).tolist()
    row, c_type = in_width * channels, C_TYPES[op.output.dtype]
    pixel = f"input0[{in_height * row}u * i + {row}u * (size_t){{y}} + {channels}u * (size_t){{x}} + c]"

    def position(axis: str, counter: str, up: int, down: int, offset: int, size: int) -> list[str]:
        return [
            f"const int32_t at_{axis} = (int32_t){counter} * {down} + {number(offset)};",
            f"const int32_t whole_{axis} = tosa_floor_div(at_{axis}, {up});",
            f"const int32_t part_{axis} = at_{axis} - whole_{axis} * {up};",
            f"const int32_t {axis}0 = tosa_clamp(whole_{axis}, 0, {size - 1});",
            f"const int32_t {axis}1 = tosa_clamp(whole_{axis} + 1, 0, {size - 1});",
        ]

    place = f"output[{height * width * channels}u * i + {width * channels}u * j + {channels}u * k + c]"
    if op.attrs["mode"] == "NEAREST_NEIGHBOR":
        y, x = (f"(part_{axis} * 2 >= {up} ? {axis}1 : {axis}0)" for axis, up in (("y", up_y), ("x", up_x)))
        inner = [f"{place} = {pixel.format(y=y, x=x)};"]
    else:
        factors_y, factors_x = (f"({up_y} - part_y)", "part_y"), (f"({up_x} - part_x)", "part_x")
        terms = [
            f"({c_type}){pixel.format(y=f'y{b}', x=f'x{a}')} * {factors_y[b]} * {factors_x[a]}"
            for b in (0, 1)
            for a in (0, 1)
        ]
        inner = [f"{place} ="] + [f"    {term}{' +' if term is not terms[-1] else ';'}" for term in terms]
    body = [*position("x", "k", up_x, down_x, offset_x, in_width), "", *loop("c", channels, inner)]
    rows = [*position("y", "j", up_y, down_y, offset_y, in_height), "", *loop("k", width, body)]
    return Kernel((0,), tuple(loop("i", batches, loop("j", height, rows))))


REDUCTIONS = tuple(_REDUCTIONS)
