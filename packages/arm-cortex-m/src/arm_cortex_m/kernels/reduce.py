"""REDUCE_MAX and REDUCE_MIN of int8, and REDUCE_SUM between RESCALEs of int8."""

from __future__ import annotations

from math import prod

from arm_tosa_core.tosa.ir import DType, Op

from .call import Call
from .chain import Chains
from .conv2d import bounds, int8_tail
from .rescale import one_scale, power_of, rescale_before, zero_points


def extreme(op: Op, _: Chains) -> Call | None:
    """The call for the greatest or the least numbers along an axis; None: of another type."""
    source, axis = op.inputs[0], op.attrs["axis"]
    if source.dtype is not DType.INT8:
        return None
    fields = {**_sizes(source.shape, {axis}), "greatest": int(op.name == "REDUCE_MAX")}
    return Call((op,), "tosa_extreme_s8", "tosa_reduce_s8.c", fields, (source,))


def reduce_sum(op: Op, chains: Chains) -> Call | None:
    """The call for a sum along one axis or axes side by side; None: it does not stand between RESCALEs."""
    before = rescale_before(op.inputs[0], chains)
    if before is None:
        return None
    source = before.inputs[0]
    sums = [op]
    while (following := chains.next(sums[-1], "REDUCE_SUM")) is not None:
        sums.append(following)
    axes = {each.attrs["axis"] for each in sums}
    together = all(axis in axes or source.shape[axis] == 1 for axis in range(min(axes), max(axes) + 1))
    tail = int8_tail(sums[-1], chains)
    power = power_of(before)
    if tail is None or power is None or not together:
        return None
    sizes = _sizes(source.shape, axes)
    scale = one_scale(tail[0], sizes["length"] * 255 << power)
    if scale is None:
        return None
    least, most = bounds(tail)
    return Call(
        ops=(before, *sums, *tail),
        function="tosa_sum_s8",
        source="tosa_reduce_s8.c",
        fields={
            **sizes,
            "input_zero_point": zero_points(before)[0],
            "left": power + scale.left,
            "multiplier": int(scale.multipliers[0]),
            "shift": int(scale.shifts[0]),
            "zero_point": zero_points(tail[0])[1],
            "least": least,
            "most": most,
        },
        inputs=(source,),
    )


def _sizes(shape: tuple[int, ...], axes: set[int]) -> dict[str, int]:
    first, last = min(axes), max(axes)
    return {"outer": prod(shape[:first]), "length": prod(shape[first : last + 1]), "inner": prod(shape[last + 1 :])}
