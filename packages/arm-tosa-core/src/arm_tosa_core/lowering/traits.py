"""Facts of an operator that several parts of the compiler want to know; a rule declares them with its function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal


class Moves(IntEnum):
    """How an operator moves data: what its results have of the numbers of its operands, in growing likeness."""

    #: Results are computed.
    NOT = 0
    #: Each number of a result is one of an operand.
    CHOSEN = 1
    #: A result has all numbers of the first operand, in their order in memory: a reshape.
    IN_ORDER = 2
    #: A result is the first operand.
    AS_IS = 3


@dataclass(frozen=True)
class Channels:
    """Where an operator keeps what belongs to channels; equalization moves factors from channel to channel.

    Args:
        weight: the argument with a factor for each channel of the result, along its first axis.
        bias: the argument with a term for each channel of the result.
        last: whether the channels of the result are its last axis; else they lie as in an image.
        read: for a layer the axis, counted from the end, of the channels that it reads, along the second axis of its
            weight; None for a norm, which reads each channel by itself.
    """

    weight: int
    bias: int
    last: bool = False
    read: int | None = None


@dataclass(frozen=True)
class Traits:
    """What is true of an operator; every default says that nothing is known.

    Args:
        moves: how it moves data. Read by value bounds (what moves makes no number below 0), 16-bit results, assignments
            to parts of tensors, equalization and composites (which look through ``AS_IS``).
        assign: what an assignment to a view makes of the tensor: of the builder, the tensor, the new numbers, and the
            view's other arguments, the tensor with the numbers in their place. Read by assignments to parts of tensors,
            which reshape the numbers where the view ``moves`` them ``IN_ORDER``.
        arithmetic: a sum or mean over axes, or the sum, difference or product of two operands, on INT32 whatever bits
            the operands have. Read by 16-bit results, value bounds and the annotation of norms.
        bounds: of a clamp: from its arguments behind the tensor, what it clamps to; None: nothing on that side. Read by
            value bounds.
        domain: where a function of one real is defined, if not everywhere. Composites clamp quantized operands to it,
            which rounding may have moved beyond.
        reach: what the results lie between, whatever is given. Read by value bounds.
        pole: it has a pole at 0. The annotation gives the operand a range of some width: the finer its scale, the
            further a number that calibration did not show, such as the variance of a fainter picture, is off behind it.
            In int16 it may read sums of 32 bits.
        steep: its slope has no bound near 0, so that what is made of small numbers needs finer steps than its operand's
            8 bits have, or its 16. Read by 16-bit results, and by sums of 32 bits.
        homogeneous: a positive factor of a channel goes through it unchanged. Equalization passes it.
        channels: of a layer or a norm. Read by equalization.
        weight_axis: of a layer, from its arguments: the axis of its weight that the result's channels lie along.
            The annotation observes weights along it.
        image: of a layer: a convolution, into which PT2E folds the norm behind it. Read by the annotation.
        promotes: integers among its operands become reals where others are reals. Composites insert the casts, so that
            the range of the reals is observed.
        fills: the number that all of a result is. Composites leave out what it is neutral to.
        chooses: of a choice, where its condition, what it takes where that is true, and what it takes elsewhere, lie
            among its arguments. Composites and the annotation look for a number as one of the two.
        adds: of an operator that writes into a tensor, from its arguments: whether it adds to the numbers there.
        looks_up: the argument with the indices of the rows that it takes of its first argument, a table. Read by
            16-bit results.
        samples_at: the argument with the positions at which it samples an image. Positions that are computed from
            constants become one before a model is quantized.
        casts: it changes the type of a tensor, if at all. Where it changes none it is dropped before a model is
            quantized.
        asserts: it computes nothing. Dropped before a model is quantized.
        compares: its results are truth values that a rounding error can turn over. Read by the conformance kit.
        contiguous: it counts elements as they lie in memory. Lowered only for operands that lie in their own order.
    """

    moves: Moves = Moves.NOT
    assign: Callable[..., Any] | None = None
    arithmetic: Literal["add", "sub", "mul", "sum", "mean"] | None = None
    bounds: Callable[..., tuple[Any, Any]] | None = None
    domain: tuple[float, float] | None = None
    reach: tuple[float, float] | None = None
    pole: bool = False
    steep: bool = False
    homogeneous: bool = False
    channels: Channels | None = None
    weight_axis: Callable[[Sequence[Any]], int] = lambda arguments: 0
    image: bool = False
    promotes: bool = False
    fills: float | None = None
    chooses: tuple[int, int, int] | None = None
    adds: Callable[..., bool] | None = None
    looks_up: int | None = None
    samples_at: int | None = None
    casts: bool = False
    asserts: bool = False
    compares: bool = False
    contiguous: bool = False


#: Of what has no rule.
UNKNOWN = Traits()
