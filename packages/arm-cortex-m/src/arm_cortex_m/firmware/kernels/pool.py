"""Pools of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.scaling import reciprocal

from ..c_text import c_type, operand
from .kernel import Kernel, bounds, constant, converted
from .windows import Window, counter, each, index


def max_pool2d(op: Op) -> Kernel:
    """MAX_POOL2D."""
    kind, least = c_type(op.output.dtype), bounds(op.output.dtype)[0]
    return _pool(
        op,
        [f"{kind} result = {operand(least)};"],
        lambda pixel: [f"result = ({kind})tosa_max(result, {pixel});"],
        "result",
    )


def avg_pool2d(op: Op) -> Kernel:
    """AVG_POOL2D: the mean of the pixels in the image, rounded as TOSA's reciprocal_scale has it."""
    before, after = (int(constant(op.inputs[position])[0]) for position in (1, 2))
    rows, columns = _windows(op)
    value = "{}" if not before else f"{{}} - {operand(before)}"
    if rows.inside and columns.inside:
        multiplier, shift = reciprocal(rows.kernel * columns.kernel)
        start, count, mean = ["int32_t sum = 0;"], [], f"tosa_scale_32(sum, {multiplier}, {shift})"
    else:
        start, count = ["int32_t sum = 0;", "uint32_t count = 0;"], ["count++;"]
        mean = "tosa_mean(sum, count)"
    least, most = map(operand, bounds(op.output.dtype))
    result = f"tosa_clamp({f'tosa_add({mean}, {operand(after)})' if after else mean}, {least}, {most})"
    return _pool(
        op, start, lambda pixel: [f"sum += {value.format(pixel)};", *count], converted(result, op.output.dtype)
    )


def _windows(op: Op) -> tuple[Window, Window]:
    (kernel_y, kernel_x), (stride_y, stride_x) = op.attrs["kernel"], op.attrs["stride"]
    top, _, left, _ = op.attrs["pad"]
    _, height, width, _ = op.inputs[0].shape
    return (
        Window("y", height, op.output.shape[1], kernel_y, stride_y, top),
        Window("x", width, op.output.shape[2], kernel_x, stride_x, left),
    )


def _pool(op: Op, start: Sequence[str], step: Callable[[str], Sequence[str]], result: str) -> Kernel:
    rows, columns = _windows(op)
    batches, height, width, channels = op.inputs[0].shape
    batch, channel = ("b", batches), ("c", channels)
    row = width * channels
    pixel = index((height * row, counter(batch)), (row, rows.pixel), (channels, columns.pixel), (1, counter(channel)))
    out_row = columns.result * channels
    place = index(
        (rows.result * out_row, counter(batch)),
        (out_row, counter(rows.results)),
        (channels, counter(columns.results)),
        (1, counter(channel)),
    )
    taken = rows.taken(columns.taken(step(f"input0[{pixel}]")))
    lines = [*start, "", *taken, f"output[{place}] = {result};"]
    return Kernel((0,), tuple(each([batch, rows.results, columns.results, channel], lines)))
