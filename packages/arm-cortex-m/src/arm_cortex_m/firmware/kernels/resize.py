"""Images of another size."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Op

from ..c_text import c_type, operand
from .kernel import Kernel, constant
from .loops import loop


def resize(op: Op) -> Kernel:
    """RESIZE: the nearest pixel, or the weighted sum of four."""
    batches, in_height, in_width, channels = op.inputs[0].shape
    _, height, width, _ = op.output.shape
    up_y, down_y, up_x, down_x = constant(op.inputs[1]).tolist()
    offset_y, offset_x = constant(op.inputs[2]).tolist()
    row, kind = in_width * channels, c_type(op.output.dtype)
    pixel = f"input0[{in_height * row}u * i + {row}u * (size_t){{y}} + {channels}u * (size_t){{x}} + c]"

    def position(axis: str, counter: str, up: int, down: int, offset: int, size: int) -> list[str]:
        return [
            f"const int32_t at_{axis} = (int32_t){counter} * {down} + {operand(offset)};",
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
            f"({kind}){pixel.format(y=f'y{b}', x=f'x{a}')} * {factors_y[b]} * {factors_x[a]}"
            for b in (0, 1)
            for a in (0, 1)
        ]
        inner = [f"{place} ="] + [f"    {term}{' +' if term is not terms[-1] else ';'}" for term in terms]
    body = [*position("x", "k", up_x, down_x, offset_x, in_width), "", *loop("c", channels, inner)]
    rows = [*position("y", "j", up_y, down_y, offset_y, in_height), "", *loop("k", width, body)]
    return Kernel((0,), tuple(loop("i", batches, loop("j", height, rows))))
