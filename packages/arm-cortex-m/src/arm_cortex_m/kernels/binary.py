"""Sums, differences, products and the like of two numbers of int8, each with its RESCALE, and the RESCALE behind."""

from __future__ import annotations

from math import prod

from arm_tosa_core.tosa.ir import Op, Tensor

from .call import Call
from .chain import Chains, numbers
from .conv2d import bounds, int8_tail
from .rescale import one_scale, rescale_before, zero_points

#: ``enum`` of tosa_binary_s8.h.
_OPERATIONS = {"ADD": 0, "SUB": 1, "MUL": 2, "MAXIMUM": 3, "MINIMUM": 4}
OPERATIONS = tuple(_OPERATIONS)


def binary(op: Op, chains: Chains) -> Call | None:
    """The call for an operator of int32 between RESCALEs of int8; None: it does not stand so."""
    before = [rescale_before(tensor, chains) for tensor in op.inputs[:2]]
    tail = int8_tail(op, chains)
    first, second = before
    if first is None or second is None or first is second or tail is None:
        return None
    if op.name == "MUL" and (not op.inputs[2].is_constant or int(numbers(op.inputs[2])[0])):
        return None
    scales = [one_scale(rescale, 255) for rescale in (first, second)]
    greatest = [_greatest(rescale) for rescale in (first, second)]
    bound = {"ADD": sum(greatest), "SUB": sum(greatest), "MUL": prod(greatest)}.get(op.name, max(greatest))
    after = one_scale(tail[0], bound)
    runs = _runs(op.output.shape, first.inputs[0], second.inputs[0])
    if scales[0] is None or scales[1] is None or after is None or runs is None or bound >= 2**31:
        return None
    least, most = bounds(tail)
    return Call(
        ops=(first, second, op, *tail),
        function="tosa_binary_s8",
        source="tosa_binary_s8.c",
        fields={
            "operation": _OPERATIONS[op.name],
            **runs,
            "a_zero_point": zero_points(first)[0],
            "b_zero_point": zero_points(second)[0],
            "zero_point": zero_points(tail[0])[1],
            "least": least,
            "most": most,
            **scales[0].fields("a_scale"),
            **scales[1].fields("b_scale"),
            **after.fields("scale"),
        },
        inputs=(first.inputs[0], second.inputs[0]),
    )


def _greatest(rescale: Op) -> int:
    """The greatest magnitude of its result, which may be one less."""
    multiplier, shift = (int(numbers(rescale.inputs[position]).max()) for position in (1, 2))
    return (255 * multiplier >> shift) + 1


def _runs(shape: tuple[int, ...], a: Tensor, b: Tensor) -> dict[str, int] | None:
    """The result as runs of numbers, of which an operand has each, or one for all; None: there are no such runs."""
    strides = [_strides(tensor.shape) for tensor in (a, b)]
    axes: list[tuple[int, list[int]]] = []  # of more than one element: the size, and each operand's step
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        steps = [each[axis] for each in strides]
        if axes and all(above == step * size for above, step in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = axes[-1][0] * size, steps
        else:
            axes.append((size, steps))
    if len(axes) > 2 or any(step not in (0, 1) for step in (axes[-1][1] if axes else [])):
        return None
    (outer, outer_steps), (inner, inner_steps) = [(1, [0, 0])] * (2 - len(axes)) + axes
    return {
        "outer": outer,
        "inner": inner,
        "a_outer": outer_steps[0],
        "b_outer": outer_steps[1],
        "a_inner": inner_steps[0],
        "b_inner": inner_steps[1],
    }


def _strides(shape: tuple[int, ...]) -> list[int]:
    """Elements from one to the next of each axis; 0: it has one element, which stands for all."""
    ends = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return [0 if size == 1 else end for size, end in zip(shape, ends, strict=True)]
