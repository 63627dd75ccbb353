"""What running a whole program beside PyTorch found, added to the result of a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from rich.console import Console

from .report import Result

if TYPE_CHECKING:
    from ..flow.whole_program import OutputDifference

_AT_RANDOM = (
    "the inputs were random numbers, which may be larger than those of the calibration: give data of yours with --input"
)
_DELEGATES_ALONE = (
    "whole program: not run. This is about the delegates alone; --model MODEL also runs the whole program, its part "
    "on the CPU too, and compares its outputs with PyTorch's"
)


def without_whole(result: Result) -> Result:
    """The result, which also says that it is about delegates alone."""

    def show(console: Console) -> None:
        result.show(console)
        console.print(_DELEGATES_ALONE, markup=False)

    return replace(result, show=show)


def with_whole(
    result: Result, unequal: Sequence[OutputDifference], *, delegates_agree: bool = False, at_random: bool = False
) -> Result:
    """The result, which also says whether the outputs are PyTorch's; its status is 1 if they are not.

    Args:
        delegates_agree: each delegate by itself computes what its graph says.
        at_random: the inputs were random numbers that nobody chose.
    """
    where = ". The delegates agree with their graphs: the fault is in what stays on the CPU, or between them"

    def show(console: Console) -> None:
        result.show(console)
        for difference in unequal:
            console.print(f"whole program: {difference}{where if delegates_agree else ''}", markup=False)
        if unequal and at_random:
            console.print(_AT_RANDOM)
        if not unequal:
            console.print("whole program: the outputs agree with PyTorch")

    data = {**result.data, "whole_program": {"agrees": not unequal, "outputs": list(map(asdict, unequal))}}
    return replace(result, data=data, show=show, status=int(bool(unequal)) or result.status)
