"""AVG_POOL2D and MAX_POOL2D of int8 and int16."""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.scaling import reciprocal

from .call import Call
from .chain import Chains, numbers
from .conv2d import window

_Array = np.ndarray[Any, Any]
#: By type, what the names of functions and sources end in.
_SUFFIXES = {DType.INT8: "s8", DType.INT16: "s16"}
#: ``tosa_pool2d.h`` shifts right by 32 and at least 1 more.
_LEAST_SHIFT = 33
#: Numbers of which sums of int16 have 32 bits.
_MOST = 2**16 - 1


def max_pool2d(op: Op, _: Chains) -> Call | None:
    """The call for the greatest numbers; None: of another type."""
    return _call(op, "tosa_max_pool2d", {}) if op.inputs[0].dtype in _SUFFIXES else None


def avg_pool2d(op: Op, _: Chains) -> Call | None:
    """The call for means; None: of another type."""
    if op.inputs[0].dtype not in _SUFFIXES or not all(tensor.is_constant for tensor in op.inputs[1:]):
        return None
    counts = sorted({rows * columns for rows in _sizes(op, 0) for columns in _sizes(op, 1)})
    if counts[-1] > _MOST:
        return None
    factors = [reciprocal(count) for count in counts]
    lefts = [max(0, _LEAST_SHIFT - shift) for _, shift in factors]
    return _call(
        op,
        "tosa_avg_pool2d",
        {
            "counts": np.array(counts, np.int32),
            "multipliers": np.array([multiplier for multiplier, _ in factors], np.int32),
            "lefts": np.array(lefts, np.int8),
            "shifts": np.array([32 - left - shift for (_, shift), left in zip(factors, lefts, strict=True)], np.int8),
            "input_zero_point": int(numbers(op.inputs[1])[0]),
            "zero_point": int(numbers(op.inputs[2])[0]),
        },
    )


def _sizes(op: Op, axis: int) -> set[int]:
    """How much of the input lies under the kernel, along an axis, at any place."""
    size, kernel, stride = op.inputs[0].shape[1 + axis], op.attrs["kernel"][axis], op.attrs["stride"][axis]
    starts = [place * stride - op.attrs["pad"][2 * axis] for place in range(op.output.shape[1 + axis])]
    return {min(start + kernel, size) - max(start, 0) for start in starts}


def _call(op: Op, function: str, fields: dict[str, int | _Array]) -> Call:
    suffix = _SUFFIXES[op.inputs[0].dtype]
    every = {**window(op, *op.attrs["kernel"]), **fields}
    pool = {f"pool.{name}": value for name, value in every.items()}
    return Call((op,), f"{function}_{suffix}", f"tosa_pool2d_{suffix}.c", pool, (op.inputs[0],))
