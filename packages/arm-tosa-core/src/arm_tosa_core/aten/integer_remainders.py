"""Remainders of integers that stay on the CPU.

ExecuTorch's kernel (1.5, ``kernels/portable/cpu/op_remainder.cpp``) gives the remainder of C, which has the sign of the
dividend: -7 % 3 is -1 there, and 2 in PyTorch. Its whole quotients are right.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node, map_arg

from ..lowering.exported_program import copy_with_twins
from ..lowering.operator_names import canonical

_aten = torch.ops.aten
_REMAINDERS = frozenset(f"aten.remainder.{overload}" for overload in ("Tensor", "Scalar", "Scalar_Tensor"))


def without_remainders(program: ExportedProgram, elsewhere: Container[Node]) -> ExportedProgram | None:
    """The program in which remainders of integers are made of whole quotients; the one given is left as it is.

    Args:
        elsewhere: nodes that do not run on the CPU.

    Returns:
        None: there are none.
    """
    remainders = [node for node in program.graph.nodes if node not in elsewhere and _is_integer_remainder(node)]
    if not remainders:
        return None
    program, twins = copy_with_twins(program)
    for node in (twins[node] for node in remainders):
        x, y = (*node.args, *node.kwargs.values())
        if not isinstance(x, Node):  # there is no quotient of a number by a tensor
            x = _before(node, _aten.full.default, [], x, dtype=node.meta["val"].dtype)
        quotient = _before(node, _aten.floor_divide.default, x, y)
        multiple = _before(node, _aten.mul.Tensor, quotient, y)
        difference = _before(node, _aten.sub.Tensor, x, multiple)
        node.replace_all_uses_with(difference)
        program.graph_signature.replace_all_uses(node.name, difference.name)
        program.graph.erase_node(node)
    return program


def _is_integer_remainder(node: Node) -> bool:
    is_one = node.op == "call_function" and canonical(node.target) in _REMAINDERS
    return is_one and not node.meta["val"].is_floating_point()


def _before(node: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
    """An operator in front of a node, of whose source it is."""
    with node.graph.inserting_before(node):
        operator: Node = node.graph.call_function(target, args, kwargs)
    operator.meta = {**node.meta, "val": target(*map_arg(args, lambda n: n.meta["val"]), **kwargs)}
    return operator
