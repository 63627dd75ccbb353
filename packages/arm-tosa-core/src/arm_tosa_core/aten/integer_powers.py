"""Powers of integers that stay on the CPU, as products.

ExecuTorch's kernel (1.5, ``kernels/portable/cpu/op_pow.cpp``) takes them in floats: it has no more than 53 bits, and
what leaves the type does not wrap.
"""

from __future__ import annotations

from typing import cast

import torch
from torch.fx import Node

from ..lowering.exported_program import source_line
from ..lowering.operator_names import canonical
from ..support.errors import UsageError
from .cpu_edits import Edit, become, before, typed

_aten = torch.ops.aten
_POWERS = frozenset(f"aten.pow.{overload}" for overload in ("Tensor_Tensor", "Tensor_Scalar", "Scalar"))


def power_edits(node: Node) -> list[Edit]:
    """What makes a power of integers of products.

    Raises:
        UsageError: it is one of truth values to a truth value; says where.
    """
    if node.op != "call_function" or canonical(node.target) not in _POWERS:
        return []
    if isinstance(node.args[1], bool) and node.all_input_nodes[0].meta["val"].dtype is torch.bool:
        raise UsageError(
            f"the power at {source_line(node)} has a bool base and a bool exponent: PyTorch gives bool, and "
            "torch.export says int64. Write x.clone() for x ** True, torch.ones_like(x) for x ** False"
        )
    dtype = node.meta["val"].dtype
    if dtype.is_floating_point or dtype.is_complex:
        return []
    return [_by_known if isinstance(node.args[1], int) else _by_bits]


def _by_known(node: Node) -> None:
    """Products by the bits of an exponent that is known, the highest first."""
    base, exponent = typed(node, node.args[0]), int(cast(int, node.args[1]))
    result = base
    for bit in f"{exponent:b}"[1:]:
        result = before(node, _aten.mul.Tensor, (result, result))
        if bit == "1":
            result = before(node, _aten.mul.Tensor, (result, base))
    become(node, _aten.clone.default if exponent else _aten.ones_like.default, result)


def _by_bits(node: Node) -> None:
    """Products of the squares that the bits of an exponent choose; of one below 0, of which 1 and -1 have a power.

    All powers of an even number from that of the type's bits on are 0.
    """
    dtype, known = node.meta["val"].dtype, node.args[0]
    base, exponent = (typed(node, argument) for argument in node.args)
    bits = torch.iinfo(dtype).bits
    length = bits - dtype.is_signed
    if isinstance(known, int) and not known % 2:
        exponent, length = before(node, _aten.clamp.default, (exponent, None, bits)), bits.bit_length()
    one, square, result = before(node, _aten.full.default, ([], 1), dtype=dtype), base, None
    for bit in range(length):
        if bit:
            square = before(node, _aten.mul.Tensor, (square, square))
        has_bit = before(node, _aten.bitwise_and.Scalar, (exponent, 1 << bit))
        is_chosen = before(node, _aten.ne.Scalar, (has_bit, 0))
        result = _product(node, result, before(node, _aten.where.self, (is_chosen, square, one)))
    has_power = before(node, _aten.eq.Scalar, (before(node, _aten.abs.default, (base,)), 1))
    is_whole = before(node, _aten.ge.Scalar, (exponent, 0))
    zero = before(node, _aten.full.default, ([], 0), dtype=dtype)
    become(node, _aten.where.self, before(node, _aten.logical_or.default, (is_whole, has_power)), result, zero)


def _product(node: Node, result: Node | None, factor: Node) -> Node:
    return factor if result is None else before(node, _aten.mul.Tensor, (result, factor))
