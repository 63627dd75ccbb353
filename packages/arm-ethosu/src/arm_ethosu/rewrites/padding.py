"""Padding by an operator of its own, which Vela copies the image for, or by the kernel behind it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage

from ..accelerators import MAX_PADDING
from .beyond_registers import padded_before
from .graph_parts import WORTH_ASKING, around
from .max_pool_copies import through_pool


@dataclass(frozen=True)
class _Padded:
    """A PAD whose result a convolution reads, perhaps by a RESHAPE, which leaves the padded axes as they are.

    Args:
        amounts: before and behind each axis of the image that the convolution reads.
    """

    pad: Op
    amounts: tuple[tuple[int, int], ...]

    @classmethod
    def before(cls, op: Op) -> _Padded | None:
        """The one before a convolution; None: a RESHAPE parts or joins an axis that is padded."""
        image, by = op.inputs[0], op.inputs[0].producer
        assert by is not None
        pad = by if by.name == "PAD" else by.inputs[0].producer
        if pad is None or pad.name != "PAD" or pad.inputs[1].data is None:
            return None
        amounts = [(0, 0)] * image.rank
        for axis, (low, high) in enumerate(pad.inputs[1].data.reshape(-1, 2).tolist()):
            if low or high:
                if (axes := _kept(axis, pad.output.shape, image.shape)) is None:
                    return None
                amounts[axes] = (low, high)
        return cls(pad, tuple(amounts))

    def joined(self, op: Op) -> list[int]:
        """Padding at the top, bottom, left and right: that of both."""
        more = [size for axis in self.amounts[1:3] for size in axis]
        return [own + size for own, size in zip(op.attrs["pad"], more, strict=True)]


def _kept(axis: int, before: tuple[int, ...], behind: tuple[int, ...]) -> int | None:
    """Which axis of what a RESHAPE makes is one of its operand; None: none is."""
    first = prod(before[:axis])
    return next((i for i, n in enumerate(behind) if n == before[axis] > 1 and prod(behind[:i]) == first), None)


def _check(match: Match) -> str | None:
    op = match.op
    if (padded := _Padded.before(op)) is None:
        return "the padded axes are parted or joined"
    zero, number = op.inputs[3].data, padded.pad.inputs[2].data
    if number is None or zero is None or int(number.item()) != int(zero.item()):
        return "it does not pad with zeros"
    if any(padded.amounts[0]) or any(padded.amounts[3]):
        return "it pads images or channels"
    joined = padded.joined(op)
    if any(size > most for size, most in zip(joined, MAX_PADDING, strict=True)):
        return "its padding is longer than the registers take"
    if any(size >= reach for size, reach in zip(joined, _reaches(op), strict=True)):
        return "a window would see nothing but padding"
    return None


def _reaches(op: Op) -> list[int]:
    """Of a window, on the same four sides."""
    height, width = (op.inputs[1].shape[i] for i in ((0, 1) if op.name == "DEPTHWISE_CONV2D" else (1, 2)))
    down, right = op.attrs["dilation"]
    return [down * (height - 1) + 1] * 2 + [right * (width - 1) + 1] * 2


def _convolution(match: Match) -> Tensor:
    """A PAD with zeros in front of a convolution becomes its padding: Vela copies the image for it."""
    op, insert = match.op, match.insert
    padded = _Padded.before(op)
    assert padded is not None
    sizes = [size - sum(more) for size, more in zip(op.inputs[0].shape, padded.amounts, strict=True)]
    image = insert.reshape(padded.pad.inputs[0], *sizes)
    return insert.like(op, image, *op.inputs[1:], pad=tuple(padded.joined(op)))


def _is_zero(match: Match) -> str | None:
    op = match.op
    pad, zero = _Padded.before(op), op.inputs[3].data
    number = None if pad is None else pad.pad.inputs[2].data
    if number is None or number.item() or any(op.attrs["pad"]):
        return "Vela leaves the PAD where it is"
    return None if zero is not None and zero.item() else "it pads with zeros"


def _apart(match: Match) -> Tensor:
    """What a PAD with 0 makes goes through a pool before a convolution whose zero point is another one.

    Vela makes it the convolution's padding, which has the value of the zero point.
    """
    op = match.op
    return match.insert.like(op, through_pool(match.insert, op.inputs[0]), *op.inputs[1:])


_PADDED = Pattern("CONV2D|DEPTHWISE_CONV2D", {0: Pattern("PAD|RESHAPE")})
PADDING_APART = pattern_rewrite("padding_apart", Stage.LEGALIZE, _PADDED, _apart, _is_zero)
PADDING_IN_KERNEL = pattern_rewrite("padding_in_kernel", Stage.OPTIMIZE, _PADDED, _convolution, _check)


def _small(match: Match) -> str | None:
    if not any(match.op.attrs["pad"]):
        return "it pads nothing"
    return "it is too small to ask about" if match.op.output.size < WORTH_ASKING else None


def _pool_apart(match: Match) -> Tensor:
    """The padding of a pool behind a convolution becomes a PAD between them.

    It ends the stripes in which Vela computes both, for which the convolution reads rows of its image several times.
    """
    return padded_before(match)


def _with_convolution(graph: Graph, op: Op) -> list[Op]:
    rescale = op.inputs[0].producer
    assert rescale is not None
    convolution = rescale.inputs[0].producer
    assert convolution is not None
    return [*around(graph, convolution), *around(graph, op)]


POOL_APART = Choice(
    "pool_apart",
    Pattern("MAX_POOL2D", {0: Pattern("RESCALE", {0: Pattern("CONV2D")}, alone=True)}),
    _pool_apart,
    _small,
    around=_with_convolution,
)
