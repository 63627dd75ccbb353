"""Loops over the results of an image, and over the pixels that each looks at, as C source text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .loops import loop

#: An axis of results: its counter in C, and its size.
_Axis = tuple[str, int]


def each(axes: Sequence[_Axis], lines: Sequence[str]) -> list[str]:
    """Loops around lines, the outermost first; an axis of one element has none: its counter is ``counter``'s "0"."""
    out = list(lines)
    for name, size in reversed(axes):
        if size != 1:
            out = loop(name, size, out)
    return out


def counter(axis: _Axis) -> str:
    """The position along an axis."""
    name, size = axis
    return name if size != 1 else "0"


def index(*terms: tuple[int, str]) -> str:
    """An index, of strides and positions."""
    written = [f"{stride}u * {position}" if stride != 1 else position for stride, position in terms if position != "0"]
    return " + ".join(written) or "0"


@dataclass(frozen=True)
class Window:
    """The pixels that one result looks at, along one axis of the image.

    Args:
        name: of the axis, ``y`` or ``x``: counters are ``y`` of results and ``ky`` of the window.
        source, result, kernel: sizes of image, result and window.
        stride, dilation, before: of the window, and the padding before the image; of the opposite direction, where
            results are as many as ``stride`` for each pixel, the padding of the result.
        opposite: of TRANSPOSE_CONV2D.
    """

    name: str
    source: int
    result: int
    kernel: int
    stride: int
    before: int
    dilation: int = 1
    opposite: bool = False

    @property
    def results(self) -> _Axis:
        return self.name, self.result

    @property
    def taps(self) -> _Axis:
        return f"k{self.name}", self.kernel

    @property
    def inside(self) -> bool:
        """Whether no result looks beyond the image."""
        last = (self.result - 1) * self.stride + (self.kernel - 1) * self.dilation - self.before
        return not self.opposite and self.before == 0 and last < self.source

    @property
    def pixel(self) -> str:
        """The position in the image, as an index."""
        if self.inside:
            text = index((self.stride, counter(self.results)), (self.dilation, counter(self.taps)))
            return f"({text})" if " " in text else text
        return f"(size_t)at_{self.name}"

    def taken(self, lines: Sequence[str]) -> list[str]:
        """Lines for each pixel of the window that is in the image."""
        at = f"at_{self.name}"
        if self.inside:
            return each([self.taps], lines)
        if not self.opposite:
            start = f"(int32_t)({index((self.stride, counter(self.results)), (self.dilation, counter(self.taps)))})"
            head = [
                f"const int32_t {at} = {start}{_less(self.before)};",
                "",
                f"if ({at} < 0 || {at} >= {self.source}) {{",
                "    continue;",
                "}",
            ]
        else:
            place = f"(int32_t){counter(self.results)} - (int32_t){counter(self.taps)}{_less(self.before)}"
            head = [
                f"const int32_t from_{self.name} = {place};",
                f"const int32_t {at} = from_{self.name} / {self.stride};",
                "",
                f"if (from_{self.name} < 0 || from_{self.name} % {self.stride} != 0 || {at} >= {self.source}) {{",
                "    continue;",
                "}",
            ]
        name, size = self.taps  # a loop in any case: ``continue`` ends a pixel's turn
        return loop(name, size, [*head, *lines])


def _less(before: int) -> str:
    return f" - {before}" if before > 0 else f" + {-before}" if before < 0 else ""
