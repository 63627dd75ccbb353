"""TRANSPOSE of int8."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import DType, Op, fewest_axes

from .call import Call
from .chain import Chains


def transpose(op: Op, _: Chains) -> Call | None:
    """The call for two axes, or groups of axes, that change places; None: of another type, or in another order."""
    source = op.inputs[0]
    if source.dtype is not DType.INT8:
        return None
    shape, perms = fewest_axes(source.shape, op.attrs["perms"])
    if len(perms) < 2:  # nothing moves
        shape, perms = [1, source.size], (1, 0)
    outer = shape.pop(0) if perms[0] == 0 and len(perms) in (3, 4) and perms[1:3] == (2, 1) else 1
    run = shape.pop() if perms[-1] == len(perms) - 1 and len(shape) == 3 else 1
    if len(shape) != 2 or perms not in ((1, 0), (0, 2, 1), (1, 0, 2), (0, 2, 1, 3)):
        return None
    fields = {"outer": outer, "rows": shape[0], "columns": shape[1], "run": run}
    return Call((op,), "tosa_transpose_s8", "tosa_transpose_s8.c", fields, (source,))
