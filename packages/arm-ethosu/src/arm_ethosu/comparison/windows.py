"""Padding, kernel, stride, dilation and size of what reads windows: convolutions and pools.

Vela may compute a window in parts, or step by step: a dilation over 2, a stride over 3, more than 65536 rows or
columns, a TRANSPOSE_CONV2D. What such parts read and write is looked at in ``memory`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from arm_tosa_core.tosa.ir import Op

from ..accelerators import MAX_AXIS
from ..command_stream import registers as r
from ..command_stream.feature_maps import computed, window
from ..command_stream.operations import Operation
from .debug_database import Owned
from .difference import Difference

_WEIGHTS = {"CONV2D": slice(1, 3), "CONV3D": slice(2, 4), "DEPTHWISE_CONV2D": slice(0, 2)}
_POOLS = ("AVG_POOL2D", "MAX_POOL2D")
#: What Vela calls an operator that reads the windows themselves, not what it copies for one before or behind.
READERS = ("AvgPool", "Conv2D", "DepthwiseConv2D", "FullyConnected", "MaxPool", "SumPool")
_LARGEST_DILATION, _LARGEST_STRIDE = 2, 3  # that are in registers
_PADS = ((r.IFM_PAD_TOP, r.IFM_PAD_BOTTOM), (r.IFM_PAD_LEFT, r.IFM_PAD_RIGHT))


@dataclass(frozen=True)
class _Axis:
    """The windows of an operator along one axis.

    Args:
        image: its size.
        taps: elements of the image in a window.
        dilation, stride: from one element of a window to the next, from one window to the next.
        before, behind: padding.
    """

    name: str
    image: int
    taps: int
    dilation: int
    stride: int
    before: int
    behind: int

    @property
    def window(self) -> int:
        """From the first element of a window to the last one."""
        return (self.taps - 1) * self.dilation + 1

    @property
    def results(self) -> int:
        """How many windows there are."""
        return (self.image + self.before + self.behind - self.window) // self.stride + 1

    @property
    def in_parts(self) -> bool:
        """Whether the registers do not hold its dilation, stride or size."""
        dilated = self.taps > 1 and self.dilation > _LARGEST_DILATION
        strided = self.results > 1 and self.stride > _LARGEST_STRIDE
        return dilated or strided or max(self.image, self.results) > MAX_AXIS

    def padding(self, first: int, count: int) -> tuple[int, int]:
        """Padding before and behind that some of the windows have.

        Of windows of one element: that of all, because Vela takes such an image in other shapes.
        """
        first, count = (first, count) if self.taps > 1 else (0, self.results)
        end = (first + count - 1) * self.stride + self.window - self.before
        return max(0, self.before - first * self.stride), max(0, end - self.image)


def window_difference(kernels: Sequence[Owned]) -> Difference | None:
    """The first difference of a kernel that reads windows from the operator that it is for."""
    by_operator: dict[Op, dict[str, list[Operation]]] = {}
    for each in kernels:
        if each.op is not None and each.kind in READERS:
            by_operator.setdefault(each.op, {}).setdefault(each.row, []).append(each.command)
    for op, rows in by_operator.items():
        if (axes := _axes(op)) is not None and (difference := _of_operator(op, axes, rows)) is not None:
            return difference
    return None


def _axes(op: Op) -> tuple[_Axis, _Axis] | None:
    """Rows and columns of what reads windows as the registers have them; None: other operators, or in parts."""
    if op.name in _WEIGHTS:
        taps, dilation = op.inputs[1].shape[_WEIGHTS[op.name]], op.attrs["dilation"][-2:]
    elif op.name in _POOLS:
        taps, dilation = op.attrs["kernel"], (1, 1)
    else:
        return None
    stride, pad, image = op.attrs["stride"][-2:], op.attrs["pad"][-4:], op.inputs[0].shape[-3:-1]
    rows, columns = (
        _Axis(name, image[i], taps[i], dilation[i], stride[i], pad[2 * i], pad[2 * i + 1])
        for i, name in enumerate(("rows", "columns"))
    )
    return None if rows.in_parts or columns.in_parts else (rows, columns)


def _of_operator(op: Op, axes: tuple[_Axis, _Axis], rows: Mapping[str, Sequence[Operation]]) -> Difference | None:
    """A difference of the kernels of an operator, by the operators of Vela's schedule: one for each image."""
    for commands in rows.values():
        if (difference := _of_row(op, axes, commands)) is not None:
            return difference
    # Vela writes some kernels twice (MAX_POOL2D before TABLE on U85): with no word between them the second repeats the
    # first one.
    kernels = {command.at: prod(computed(command)) for commands in rows.values() for command in commands}
    elements = sum(number for at, number in kernels.items() if at - 1 not in kernels)
    if op.name != "CONV3D" and elements != op.output.size:  # whose planes are summed one by one
        return Difference(op, "computes so many elements:", f"{elements}", f"{op.output.size}")
    return None


def _of_row(op: Op, axes: tuple[_Axis, _Axis], commands: Sequence[Operation]) -> Difference | None:
    """Commands of one operator of the schedule, in the order of the rows that they compute."""
    rows, columns = axes
    row = 0
    for command in commands:
        height, width, depth = computed(command)
        for axis, results, *written in zip(axes, (height, width), *window(command)[:3], strict=True):
            taps, extent, stride = written
            if (taps, extent) != (axis.taps, axis.window):
                right = f"{axis.taps}, {axis.window}"
                return Difference(op, f"taps and extent ({axis.name})", f"{taps}, {extent}", right)
            if stride != axis.stride and results > 1 < axis.results:
                return Difference(op, f"stride ({axis.name})", f"{stride}", f"{axis.stride}")
        if columns.taps > 1 and width != columns.results:
            continue  # parts of columns: which ones is not known
        first = 0
        if rows.taps > 1 and height != rows.results:
            if depth != op.output.shape[-1]:
                continue  # parts of rows and of channels
            first, row = row, (row + height) % rows.results
        padding = [(command.get(before, 0), command.get(behind, 0)) for before, behind in _PADS]
        right_padding = [rows.padding(first, height), columns.padding(0, width)]
        if padding != right_padding:
            return Difference(op, "padding (top, bottom, left, right)", _text(padding), _text(right_padding))
    return None


def _text(padding: Sequence[tuple[int, int]]) -> str:
    return "/".join(str(size) for pair in padding for size in pair)
