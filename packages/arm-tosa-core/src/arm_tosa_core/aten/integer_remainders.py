"""Remainders of integers that stay on the CPU.

ExecuTorch's kernel (1.5, ``kernels/portable/cpu/op_remainder.cpp``) gives the remainder of C, which has the sign of the
dividend: -7 % 3 is -1 there, and 2 in PyTorch. Its whole quotients are right.
"""

from __future__ import annotations

import torch
from torch.fx import Node

from ..lowering.operator_names import canonical
from ..lowering.values import of_type
from .cpu_edits import Edit, become, before

_aten = torch.ops.aten
_REMAINDERS = frozenset(f"aten.remainder.{overload}" for overload in ("Tensor", "Scalar", "Scalar_Tensor"))


def remainder_edits(node: Node) -> list[Edit]:
    """What makes a remainder of integers of a whole quotient."""
    is_one = node.op == "call_function" and canonical(node.target) in _REMAINDERS
    return [_replace] if is_one and not node.meta["val"].is_floating_point() else []


def _replace(node: Node) -> None:
    x, y = (*node.args, *node.kwargs.values())
    dtype = node.meta["val"].dtype
    if isinstance(x, (bool, int, float)):  # there is no quotient of a number by a tensor
        x = before(node, _aten.full.default, ([], of_type(x, dtype).item()), dtype=dtype)
    quotient = before(node, _aten.floor_divide.default, (x, y))
    multiple = before(node, _aten.mul.Tensor, (quotient, y))
    become(node, _aten.sub.Tensor, x, multiple)
