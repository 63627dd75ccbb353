"""What a step on the processor is made of: how often its loops run, of which its instructions are a sum."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arm_tosa_core.tosa.ir import Op

from .kernels.kernel import element_operations, single
from .kernels.reduction import REDUCTIONS
from .model import Called, Operator

Counts = tuple[float, ...]


@dataclass(frozen=True)
class _Lanes:
    """How many numbers the variants of a kernel take at once.

    Args:
        sums: products of int8.
        rows: places of a convolution beside one another.
        results: sums that are scaled to results.
        bytes: numbers that are copied or compared.
    """

    sums: int
    rows: int
    results: int
    bytes: int


_LANES = {"Helium": _Lanes(16, 3, 4, 16), "DSP extension": _Lanes(4, 4, 1, 4)}
VECTORS = tuple(_LANES)
#: The form of operators that one loop computes together.
SEVERAL = "several in one loop"
#: Attributes by which the text of an operator's kernel differs.
_WAYS = {"by channels": ("per_channel", True), "rounded twice": ("rounding_mode", "DOUBLE_ROUND")}


def form_and_counts(step: Called | Operator, vectors: str) -> tuple[str, Counts]:
    """The form of a step's loops, a name, and how often each of them runs; the last count is 1, for the call.

    Args:
        vectors: of the core.
    """
    if isinstance(step, Operator) and step.parts:
        return SEVERAL, _several(step.parts, len(step.inputs))
    if isinstance(step, Operator):
        op = step.op
        how = [text for text, (attribute, value) in _WAYS.items() if op.attrs.get(attribute) == value]
        how += ["with padding"] if any(op.attrs.get("pad", ())) else []
        name = " ".join([f"{op.name} of {op.inputs[0].dtype.bits} to {op.output.dtype.bits} bits", *how])
        return name, (element_operations(op), op.output.size, 1)
    function = step.call.function
    return _COUNTS[function](function, _Fields(step.call.fields), _LANES[vectors])


def _several(ops: Sequence[Op], operands: int) -> Counts:
    """Of operators in one loop, or row by row: RESCALEs by others than powers of two, TABLEs, and other results;
    numbers read and written."""
    sizes: dict[str, int] = Counter()
    for op in ops:
        kind = op.name if op.name == "TABLE" or (op.name == "RESCALE" and not _shifts(op)) else ""
        sizes[kind] += max(op.output.size, op.inputs[0].size if op.name in REDUCTIONS else 0)
    return sizes["RESCALE"], sizes["TABLE"], sizes[""], (operands + 1) * ops[-1].output.size, 1


def _shifts(rescale: Op) -> bool:
    """Whether its factor is a power of two, by which ``tosa_scale_32`` shifts."""
    factor = single(rescale.inputs[1])
    return factor == 2**30 and single(rescale.inputs[2]) is not None and rescale.attrs["scale32"]


class _Fields:
    """The numbers among the fields of a call."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {
            re.sub(r"^((conv|phases|pool)\.)?(window\.)?", "", name): value for name, value in fields.items()
        }

    def but(self, **numbers: int) -> _Fields:
        """With others in their place."""
        return _Fields({**self._fields, **numbers})

    def pairs(self, axis: str) -> list[tuple[int, int]]:
        """Of each phase of a transposed convolution, taps and padding."""
        return list(zip(self._fields[f"taps_{axis}"].tolist(), self._fields[f"pads_{axis}"].tolist(), strict=True))

    def __getattr__(self, name: str) -> int:
        return int(self._fields[name])


def _conv2d(function: str, call: _Fields, lanes: _Lanes, may_be_direct: bool = True) -> tuple[str, Counts]:
    places = call.batches * call.out_height * call.out_width
    channels, line = call.out_channels, call.kernel_width * call.channels
    depth = _up(call.kernel_height * line, lanes.sums)
    blocks = _up(channels, lanes.results)
    whole, rest = (_up(places, 3), 0) if lanes.rows == 3 and places >= 3 else divmod(places, lanes.rows)
    products = whole * blocks * depth, whole * blocks, rest * blocks * depth, rest * blocks
    direct = (
        may_be_direct
        and call.kernel_height == call.kernel_width == call.stride_y == call.stride_x == 1
        and ((call.height, call.width) == (call.out_height, call.out_width))
    )
    gathered = (0, 0, 0, 0) if direct else _gathered(call, lanes, line)
    widened = whole * lanes.rows * depth if lanes.rows == 4 else 0 if direct else _up(places, 9) * blocks
    return function, (*products, *gathered, widened, places, 1)


def _conv2d_s4(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    """Those of the convolutions, one for each group of channels, and blocks of weights that are unpacked."""
    groups = [min(call.group, call.out_channels - first) for first in range(0, call.out_channels, call.group)]
    each = [_conv2d(function, call.but(out_channels=channels), lanes)[1] for channels in groups]
    depth = call.kernel_height * call.kernel_width * call.channels
    return function, (*map(sum, zip(*each, strict=True)), sum(_up(channels * depth, 32) for channels in groups), 1)


def _conv2d_s16(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    """Half as many numbers as of int8 are in a vector, and one row is multiplied at a time with Helium."""
    wide = _Lanes(lanes.sums // 2, 1, 4, lanes.bytes // 2) if lanes.rows == 3 else _Lanes(4, 4, 1, lanes.bytes // 2)
    return _conv2d(function, call, wide, may_be_direct=function == "tosa_conv2d_s16")


def _transpose_conv2d(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    """Those of the convolutions, one for each line of the results of each phase; lines, and places that are spread."""
    convolution = _conv2d if function.endswith("s8") else _conv2d_s16
    total: list[float] = []
    lines = 0
    for first_y, (taps_y, pad_y) in enumerate(call.pairs("y")):
        for first_x, (taps_x, pad_x) in enumerate(call.pairs("x")):
            width = -(-(call.out_width - first_x) // call.stride_x)
            for line in range(-(-(call.out_height - first_y) // call.stride_y)) if width > 0 else ():
                one = taps_y == 1 and 0 <= line - pad_y < call.height
                size = {"height": 1 if one else call.height, "out_height": 1, "out_width": width, "batches": 1}
                size |= {"stride_y": 1, "stride_x": 1, "kernel_height": taps_y, "kernel_width": taps_x}
                pads = {"pad_top": 0 if one else pad_y - line, "pad_left": pad_x}
                counts = convolution(function.replace("transpose_", ""), call.but(**size, **pads), lanes)[1]
                total = [a + b for a, b in zip(total or [0.0] * len(counts), counts, strict=True)]
                lines += 1
    spread = call.batches * call.out_height * call.out_width * (call.stride_x > 1)
    return function, (*(call.batches * count for count in total[:-1]), call.batches * lines, spread, 1)


def _depthwise_s16(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    channels, places = call.channels * call.multiplier, call.batches * call.out_height * call.out_width
    blocks = _up(channels, 8 if lanes.sums == 16 else 2)
    rows = _reached(call.out_height, call.stride_y, call.pad_top, call.kernel_height, call.dilation_y, call.height)
    columns = _reached(call.out_width, call.stride_x, call.pad_left, call.kernel_width, call.dilation_x, call.width)
    taps = call.batches * rows * columns
    lines = call.batches * rows * call.out_width
    return function, (taps * blocks, lines * blocks, places * blocks, places, 1)


def _reached(results: int, stride: int, before: int, kernel: int, dilation: int, size: int) -> int:
    """Places of a kernel that are in the image, along an axis, of all results together."""
    starts = [result * stride - before for result in range(results)]
    return sum(0 <= start + tap * dilation < size for start in starts for tap in range(kernel))


def _gathered(call: _Fields, lanes: _Lanes, line: int) -> Counts:
    """Lines that are copied as they are, and numbers of those that are not, because the kernel reaches beyond."""
    reach = (call.kernel_width - 1) * call.dilation_x
    starts = [x * call.stride_x - call.pad_left for x in range(call.out_width)]
    inside = sum(call.dilation_x == 1 and start >= 0 and start + reach < call.width for start in starts)
    lines = call.batches * call.out_height * call.kernel_height
    apart = lines * (call.out_width - inside) * call.kernel_width
    copies = _up(line, lanes.bytes), _up(call.channels, lanes.bytes)
    return lines * inside, lines * inside * copies[0], apart, apart * copies[1]


def _depthwise(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    taps, lines = call.kernel_height * call.kernel_width, call.batches * call.out_height
    channels = call.channels * call.multiplier
    if lanes.sums == 16:
        blocks = _up(channels, 16)
        vectors = lines * blocks * _up(call.out_width, call.places)
    else:
        blocks = _up(channels, 4)
        vectors = lines * blocks * _up(call.out_width, 2)
    rows = (call.out_height - 1) * call.stride_y + (call.kernel_height - 1) * call.dilation_y + 1
    width = (call.out_width - 1) * call.stride_x + (call.kernel_width - 1) * call.dilation_x + 1
    placed = call.batches * min(rows, call.height + call.kernel_height)
    form = f"{function} of 3 x 3" if (call.kernel_height, call.kernel_width) == (3, 3) else function
    numbers = _up(width * channels, lanes.bytes)
    repeated = call.multiplier * _up(width * call.channels, 16) if lanes.sums == 16 else width * call.channels
    several = placed * repeated * (call.multiplier > 1)
    return form, (vectors * taps, vectors, lines * blocks, placed * numbers, placed, lines * taps, several, 1)


def _matmul(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    depth = _up(call.depth, lanes.sums)
    if lanes.sums == 16:
        threes, ones = divmod(call.height, 3)
        blocks = _up(call.width, 4)
        turned = call.depth * _up(call.width, 8), call.depth * blocks * (call.a_zero_point != 0)
        products = (threes * blocks * depth, threes * blocks, ones * blocks * depth, ones * blocks)
    else:
        fours, ones = call.width - call.width % 4, call.width % 4
        turned = call.depth * call.width, 0
        products = call.height * fours * depth, call.height * fours, call.height * ones * call.depth, call.height * ones
    each = (*turned, *products, call.height * _up(call.depth, lanes.bytes) * (call.b_zero_point != 0), call.height, 1)
    return function, (*(call.batches * count for count in each), 1)


def _matmul_s16(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    """Two rows and two columns at a time."""
    blocks = _up(call.height, 2) * _up(call.width, 2)
    turned = call.depth * _up(call.width, 8 if lanes.sums == 16 else 1)
    each = turned, blocks * _up(call.depth, lanes.sums // 2), blocks, _up(call.height, 2)
    return function, (*(call.batches * count for count in each), 1)


def _binary(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    form = function if call.operation == 0 else f"{function} of others than sums"
    return form, (call.outer * _up(call.inner, lanes.results), call.outer, 1)


def _table(function: str, call: _Fields, _: _Lanes) -> tuple[str, Counts]:
    return function, (call.count, 1)


def _pool(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    places = call.batches * call.out_height * call.out_width
    taps, channels = call.kernel_height * call.kernel_width, call.channels
    blocks = _up(channels, lanes.bytes if function.endswith("s8") else lanes.bytes // 2)
    return function, (places * blocks * taps, places * taps, places * blocks, places * channels, places, 1)


def _reduce(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    if call.inner == 1:
        numbers = call.outer * call.length
        return f"{function} of rows", (call.outer * _up(call.length, lanes.bytes), numbers, call.outer, 1)
    blocks = call.outer * _up(call.inner, lanes.bytes if function == "tosa_extreme_s8" else lanes.results)
    return function, (blocks * call.length, call.outer * call.inner * call.length, blocks, call.outer, 1)


def _softmax(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    numbers = call.rows * _up(call.length, lanes.bytes), call.rows * _up(call.length, lanes.results)
    return function, (*numbers, call.rows, 1)


def _transpose(function: str, call: _Fields, lanes: _Lanes) -> tuple[str, Counts]:
    rows, columns = sorted((call.rows, call.columns))
    if call.run == 1:
        numbers = call.outer * rows * columns
        return function, (call.outer * rows * _up(columns, 8), numbers, call.outer * columns, call.outer, 1)
    runs = call.outer * rows * columns
    return f"{function} of runs", (runs * _up(call.run, lanes.bytes), runs, call.outer, 1)


def _up(count: int, at_once: int) -> int:
    return -(-count // at_once)


_COUNTS: Mapping[str, Callable[[str, _Fields, _Lanes], tuple[str, Counts]]] = {
    "tosa_avg_pool2d_s16": _pool,
    "tosa_avg_pool2d_s8": _pool,
    "tosa_binary_s8": _binary,
    "tosa_conv2d_s16": _conv2d_s16,
    "tosa_conv2d_s4": _conv2d_s4,
    "tosa_conv2d_s8": _conv2d,
    "tosa_conv2d_s8_s16": _conv2d_s16,
    "tosa_depthwise_conv2d_s16": _depthwise_s16,
    "tosa_depthwise_conv2d_s8": _depthwise,
    "tosa_extreme_s8": _reduce,
    "tosa_matmul_s16": _matmul_s16,
    "tosa_matmul_s8": _matmul,
    "tosa_max_pool2d_s16": _pool,
    "tosa_max_pool2d_s8": _pool,
    "tosa_softmax_s8": _softmax,
    "tosa_sum_s8": _reduce,
    "tosa_table_s8": _table,
    "tosa_transpose_conv2d_s16": _transpose_conv2d,
    "tosa_transpose_conv2d_s8": _transpose_conv2d,
    "tosa_transpose_s8": _transpose,
}
#: Those whose loops are counted: all.
FUNCTIONS = tuple(_COUNTS)
