"""Constants of one element that arithmetic reads, as numbers: they need no scale, and a function may be one table."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import Node

from ...compat.torch import OpOverload
from ...compat.torch_sizes import same_shape

_ATEN = torch.ops.aten


def read_number(user: Node, constant: Node, value: Any) -> None:
    """Has an operator read a constant of one element as a number, in place, where its result stays the same.

    Files of ONNX have their numbers as tensors; a buffer ``torch.tensor(0.5)`` is one, too.

    Args:
        user: reads the constant.
        constant: its node.
        value: what it is at every call.
    """
    if not isinstance(value, torch.Tensor) or value.numel() != 1 or len(user.args) != 2 or user.kwargs:
        return
    x = user.args[0] if user.args[1] is constant else user.args[1]
    if not isinstance(x, Node) or x is constant or not isinstance(user.target, OpOverload):
        return
    given, made = x.meta.get("val"), user.meta.get("val")
    if not isinstance(given, torch.Tensor) or not isinstance(made, torch.Tensor) or not value.is_floating_point():
        return
    if not value.dtype == given.dtype == made.dtype or not same_shape(given.shape, made.shape):
        return
    if math.isfinite(number := value.item()):
        user.target, user.args = _with_number(user.target, user.args, x, number)


def _with_number(target: OpOverload, args: tuple[Any, ...], x: Node, number: float) -> tuple[OpOverload, Any]:
    """An operator and its arguments with a number in place of what is not ``x``; unchanged if none is the same."""
    is_second = args[0] is x
    if target in (_ATEN.add.Tensor, _ATEN.mul.Tensor):
        return target, (x, number)
    if target in (_ATEN.sub.Tensor, _ATEN.div.Tensor) and is_second:
        return target, (x, number)
    if target is _ATEN.sub.Tensor:
        return _ATEN.rsub.Scalar, (x, number)
    if target is _ATEN.maximum.default:
        return _ATEN.clamp.default, (x, number)
    if target is _ATEN.minimum.default:
        return _ATEN.clamp.default, (x, None, number)
    if target is _ATEN.pow.Tensor_Tensor and is_second:
        return _ATEN.pow.Tensor_Scalar, (x, number)
    return target, args
