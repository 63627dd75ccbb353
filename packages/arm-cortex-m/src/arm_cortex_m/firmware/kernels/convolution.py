"""Convolutions, one result at a time; sums of INT16 have 64 bits, of which TOSA has 48."""

from __future__ import annotations

from collections.abc import Sequence

from arm_tosa_core.tosa.ir import DType, Op

from ..c_text import c_type, operand
from .kernel import Kernel, constant, element, pointers, single
from .windows import Window, counter, each, index


def conv2d(op: Op) -> Kernel:
    """CONV2D."""
    (top, _, left, _), (stride_y, stride_x) = op.attrs["pad"], op.attrs["stride"]
    dilation_y, dilation_x = op.attrs["dilation"]
    _, kernel_y, kernel_x, _ = op.inputs[1].shape
    _, height, width, _ = op.inputs[0].shape
    return _dense(
        op,
        Window("y", height, op.output.shape[1], kernel_y, stride_y, top, dilation_y),
        Window("x", width, op.output.shape[2], kernel_x, stride_x, left, dilation_x),
    )


def transpose_conv2d(op: Op) -> Kernel:
    """TRANSPOSE_CONV2D: a result takes from those pixels that would give to it."""
    (top, _, left, _), (stride_y, stride_x) = op.attrs["out_pad"], op.attrs["stride"]
    _, kernel_y, kernel_x, _ = op.inputs[1].shape
    _, height, width, _ = op.inputs[0].shape
    return _dense(
        op,
        Window("y", height, op.output.shape[1], kernel_y, stride_y, top, opposite=True),
        Window("x", width, op.output.shape[2], kernel_x, stride_x, left, opposite=True),
    )


def depthwise_conv2d(op: Op) -> Kernel:
    """DEPTHWISE_CONV2D: channel c of the image gives results c * multiplier and those behind."""
    (top, _, left, _), (stride_y, stride_x) = op.attrs["pad"], op.attrs["stride"]
    dilation_y, dilation_x = op.attrs["dilation"]
    kernel_y, kernel_x, channels, multiplier = op.inputs[1].shape
    batches, height, width, _ = op.inputs[0].shape
    rows = Window("y", height, op.output.shape[1], kernel_y, stride_y, top, dilation_y)
    columns = Window("x", width, op.output.shape[2], kernel_x, stride_x, left, dilation_x)
    batch, channel, own = ("b", batches), ("c", channels), ("m", multiplier)
    pixel = _pixel(op, rows, columns, counter(batch), counter(channel))
    taps = (kernel_x * channels * multiplier, counter(rows.taps)), (channels * multiplier, counter(columns.taps))
    result = (multiplier, counter(channel)), (1, counter(own))
    products = rows.taken(columns.taken([_product(op, pixel, index(*taps, *result))]))
    return _sums(op, [batch, rows.results, columns.results, channel, own], index(*result), products)


def _dense(op: Op, rows: Window, columns: Window) -> Kernel:
    """Each result is of all channels."""
    results, kernel_y, kernel_x, channels = op.inputs[1].shape
    batch, channel, result = ("b", op.inputs[0].shape[0]), ("i", channels), ("c", results)
    weight = index(
        (kernel_y * kernel_x * channels, counter(result)),
        (kernel_x * channels, counter(rows.taps)),
        (channels, counter(columns.taps)),
        (1, counter(channel)),
    )
    pixel = _pixel(op, rows, columns, counter(batch), counter(channel))
    products = rows.taken(columns.taken(each([channel], [_product(op, pixel, weight)])))
    return _sums(op, [batch, rows.results, columns.results, result], counter(result), products)


def _pixel(op: Op, rows: Window, columns: Window, batch: str, channel: str) -> str:
    _, height, width, channels = op.inputs[0].shape
    row = width * channels
    return index((height * row, batch), (row, rows.pixel), (channels, columns.pixel), (1, channel))


def _product(op: Op, pixel: str, weight: str) -> str:
    """The sum grows by a pixel times a weight, both without their zero points."""
    factors = []
    for position, at in ((0, pixel), (1, weight)):
        (zero_point,) = constant(op.inputs[3 + position]).tolist()
        text = element(op, position, at)
        factors.append(f"({text} - {operand(int(zero_point))})" if zero_point else text)
    return f"sum += {'(int64_t)' if op.output.dtype is DType.INT48 else ''}{' * '.join(factors)};"


def _sums(op: Op, axes: Sequence[tuple[str, int]], bias: str, products: Sequence[str]) -> Kernel:
    """A sum for each result: the results lie as the axes do."""
    start = element(op, 2, bias if op.inputs[2].size > 1 else "0")
    strides = [1]
    for _, size in reversed(axes[1:]):
        strides.insert(0, strides[0] * size)
    place = index(*((stride, counter(axis)) for stride, axis in zip(strides, axes, strict=True)))
    lines = [f"{c_type(op.output.dtype)} sum = {start};", "", *products, f"output[{place}] = sum;"]
    reads = pointers(op, 0, 1)
    return Kernel((*reads, 2) if single(op.inputs[2]) is None else reads, tuple(each(axes, lines)))
