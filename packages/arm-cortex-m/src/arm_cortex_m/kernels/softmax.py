"""Softmax of int8 along the last axis, as the operators that it is made of compute it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op, Tensor

from .call import Call
from .chain import Chains, numbers
from .conv2d import bounds, int8_tail
from .rescale import one_scale, power_of, rescale_before, zero_points
from .table import results


@dataclass(frozen=True)
class _Up:
    """A RESCALE of int8 to int32 that multiplies by a power of two.

    Args:
        power: its logarithm.
        zero_point: of the operand.
    """

    op: Op
    power: int
    zero_point: int


@dataclass(frozen=True)
class _Row:
    """Operators behind one another, each of which makes a number of one.

    Args:
        values: the results of the last, of all numbers that the first may read.
    """

    ops: tuple[Op, ...]
    values: list[int]


def softmax(op: Op, chains: Chains) -> Call | None:
    """The call for the REDUCE_MAX with which a softmax begins, and for all that follows; None: it begins none."""
    source, axis = op.inputs[0], op.attrs["axis"]
    found = _difference(op, chains)
    if found is None or source.dtype is not DType.INT8 or prod(source.shape[axis + 1 :]) != 1:
        return None
    difference, step = found
    exponentials = _row(difference[-1], range(0, -256 * step, -step), chains)
    branches = _branches(exponentials, chains)
    if branches is None:
        return None
    to_sum, total, to_product, product = branches
    sum_tail, tail = int8_tail(total, chains), int8_tail(product, chains)
    if sum_tail is None or tail is None or total.attrs["axis"] != axis:
        return None
    reciprocals = _row(sum_tail[-1], range(-128, 128), chains)
    factors = [value << to_product.power for value in reciprocals.values]
    length, largest = source.shape[axis], max(map(abs, factors))
    sum_scale = one_scale(sum_tail[0], length * 255 << to_sum.power)
    scale = one_scale(tail[0], 255 * largest)
    joined = reciprocals.ops and any(reciprocals.ops[-1].output is tensor for tensor in product.inputs)
    if not joined or largest >= 2**15 or sum_scale is None or scale is None:
        return None
    sum_bounds, limits = bounds(sum_tail), bounds(tail)
    made = (*exponentials.ops, to_sum.op, total, *sum_tail, *reciprocals.ops, to_product.op, product)
    return Call(
        ops=(op, *difference, *made, *tail),
        function="tosa_softmax_s8",
        source="tosa_softmax_s8.c",
        fields={
            "rows": prod(source.shape[:axis]),
            "length": length,
            "exponentials": np.array(exponentials.values, np.int8),
            "sum_zero_point": to_sum.zero_point,
            "zero_point": to_product.zero_point,
            **sum_scale.fields("sum_scale"),
            "sum_scale.left": sum_scale.left + to_sum.power,
            "sum_least": sum_bounds[0],
            "sum_most": sum_bounds[1],
            "sum_out_zero_point": zero_points(sum_tail[0])[1],
            "reciprocals": np.array(factors, np.int16),
            **scale.fields("scale"),
            "out_zero_point": zero_points(tail[0])[1],
            "least": limits[0],
            "most": limits[1],
        },
        inputs=(source,),
    )


def _difference(op: Op, chains: Chains) -> tuple[tuple[Op, Op, Op], int] | None:
    """The RESCALEs of the numbers and of the greatest, and the SUB; what a difference of 1 has become."""
    reader = chains.only_reader(op.output)
    sub = chains.only_reader(reader.output) if reader is not None else None
    if sub is None or sub.name != "SUB":
        return None
    first, second = (_up(tensor, chains) for tensor in sub.inputs)
    if first is None or second is None or second.op is not reader or first.op.inputs[0] is not op.inputs[0]:
        return None
    if (first.power, first.zero_point) != (second.power, second.zero_point):
        return None
    return (first.op, second.op, sub), 1 << first.power


def _branches(exponentials: _Row, chains: Chains) -> tuple[_Up, Op, _Up, Op] | None:
    """What reads the exponentials: a RESCALE and the REDUCE_SUM, a RESCALE and the MUL."""
    if not exponentials.ops or exponentials.ops[-1].output.dtype is not DType.INT8:
        return None
    found: dict[str, tuple[_Up, Op]] = {}
    for reader in chains.readers(exponentials.ops[-1].output):
        up, following = _up(reader.output, chains), chains.only_reader(reader.output)
        if up is not None and following is not None:
            found[following.name] = up, following
    if found.keys() != {"REDUCE_SUM", "MUL"} or len(chains.readers(exponentials.ops[-1].output)) != 2:
        return None
    (to_sum, total), (to_product, product) = found["REDUCE_SUM"], found["MUL"]
    shift = product.inputs[2]
    exact = shift.is_constant and not numbers(shift)[0]
    return (to_sum, total, to_product, product) if exact else None


def _row(op: Op, values: Iterable[int], chains: Chains) -> _Row:
    """The operators behind one, each of which makes a number of one.

    Args:
        values: the results of ``op``.
    """
    ops: list[Op] = []
    out = list(values)
    while (reader := chains.only_reader(op.output)) is not None:
        made = results(reader, op.output, out)
        if made is None or reader.output.shape != op.output.shape:
            break
        ops.append(reader)
        op, out = reader, made
    return _Row(tuple(ops), out)


def _up(tensor: Tensor, chains: Chains) -> _Up | None:
    op = rescale_before(tensor, chains)
    power = power_of(op) if op is not None else None
    return None if op is None or power is None else _Up(op, power, zero_points(op)[0])
