"""Shifts of integers that stay on the CPU, by less than the bits of their type.

ExecuTorch's kernels (1.5, ``kernels/portable/cpu/op_bitwise_left_shift.cpp`` and ``op_bitwise_right_shift.cpp``) leave
other counts to the processor, which takes 40 as 8 beside 32 bits; in PyTorch nothing is left, or the sign alone. There
are none for a number that is shifted, and for Python's operators (``aten.__lshift__``, ``aten.__rshift__``).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.fx import Node

from ..lowering.operator_names import canonical
from ..lowering.values import of_type
from .cpu_edits import Edit, become, before, typed

_aten = torch.ops.aten
_LEFT, _RIGHT = _aten.bitwise_left_shift, _aten.bitwise_right_shift
_SHIFTS = {"bitwise_left_shift": _LEFT, "__lshift__": _LEFT, "bitwise_right_shift": _RIGHT, "__rshift__": _RIGHT}


def shift_edits(node: Node) -> list[Edit]:
    """What makes a shift one that a kernel computes right."""
    namespace, _, name = canonical(node.target).partition(".") if node.op == "call_function" else ("", "", "")
    shift = _SHIFTS.get(name.partition(".")[0]) if namespace == "aten" else None
    return [] if shift is None else [partial(_replace, shift=shift)]


def _replace(node: Node, shift: Any) -> None:
    dtype = node.meta["val"].dtype
    last, (x, count) = torch.iinfo(dtype).bits - 1, node.args
    x = typed(node, x)
    if isinstance(count, int) and 0 <= (known := of_type(count, dtype).item()) <= last:
        become(node, shift.Tensor_Scalar, x, known)
        return
    count = typed(node, count)
    inside = before(node, _aten.clamp.default, (count, 0, last))
    shifted = before(node, shift.Tensor, (x, inside))
    if shift is _RIGHT and dtype.is_signed:
        beyond = before(node, shift.Tensor_Scalar, (x, last))
    else:
        beyond = before(node, _aten.full.default, ([], 0), dtype=dtype)
    become(node, _aten.where.self, before(node, _aten.eq.Tensor, (count, inside)), shifted, beyond)
