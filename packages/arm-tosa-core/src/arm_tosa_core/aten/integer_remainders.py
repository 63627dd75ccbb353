"""Remainders of integers that stay on the CPU, in the bodies of its loops too.

ExecuTorch's kernel (1.5, ``kernels/portable/cpu/op_remainder.cpp``) gives the remainder of C, which has the sign of the
dividend: -7 % 3 is -1 there, and 2 in PyTorch. Its whole quotients are right.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Container
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node, map_arg

from ..lowering.exported_program import copy_with_twins, is_graph
from ..lowering.operator_names import canonical
from ..lowering.values import of_type
from .wrapped_graphs import graphs_of

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
    graphs = filter(is_graph, program.graph.find_nodes(op="get_attr"))
    bodies = [node for node in graphs if _runs_on_cpu(node, elsewhere) and _has_remainders(program, node)]
    if not remainders and not bodies:
        return None
    program, twins = copy_with_twins(program)
    for node in (twins[node] for node in remainders):
        program.graph_signature.replace_all_uses(node.name, _replaced(node).name)
    for node in (twins[node] for node in bodies):
        own = copy.deepcopy(program.graph_module.get_submodule(str(node.target)))  # another program may share it
        for part in graphs_of(own):
            for remainder in filter(_is_integer_remainder, list(part.graph.nodes)):
                _replaced(remainder)
            part.recompile()
        node.target = f"{node.name}_of_whole_quotients"
        program.graph_module.add_submodule(node.target, own)
    return program


def _replaced(node: Node) -> Node:
    """Puts the difference in the place of a remainder."""
    x, y = (*node.args, *node.kwargs.values())
    dtype = node.meta["val"].dtype
    if isinstance(x, (bool, int, float)):  # there is no quotient of a number by a tensor
        x = _before(node, _aten.full.default, [], of_type(x, dtype).item(), dtype=dtype)
    quotient = _before(node, _aten.floor_divide.default, x, y)
    multiple = _before(node, _aten.mul.Tensor, quotient, y)
    difference = _before(node, _aten.sub.Tensor, x, multiple)
    node.replace_all_uses_with(difference)
    node.graph.erase_node(node)
    return difference


def _runs_on_cpu(node: Node, elsewhere: Container[Node]) -> bool:
    """Whether the CPU runs the loop or the branch of a graph."""
    return not any(user in elsewhere for user in node.users)


def _has_remainders(program: ExportedProgram, node: Node) -> bool:
    module = operator.attrgetter(str(node.target))(program.graph_module)
    return any(_is_integer_remainder(inner) for part in graphs_of(module) for inner in part.graph.nodes)


def _is_integer_remainder(node: Node) -> bool:
    is_one = node.op == "call_function" and canonical(node.target) in _REMAINDERS
    return is_one and not node.meta["val"].is_floating_point()


def _before(node: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
    """An operator in front of a node, of whose source it is."""
    with node.graph.inserting_before(node):
        made: Node = node.graph.call_function(target, args, kwargs)
    made.meta = {**node.meta, "val": target(*map_arg(args, lambda n: n.meta["val"]), **kwargs)}
    return made
