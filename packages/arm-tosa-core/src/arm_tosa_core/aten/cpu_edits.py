"""Operators that the CPU runs, edited where they are: in a program and in the bodies of its loops."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Container, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node, map_arg

from ..lowering.exported_program import copy_with_twins, is_graph
from ..lowering.values import of_type
from .wrapped_graphs import graphs_of

_aten = torch.ops.aten
#: Changes a node, which stays the node of its result, since programs name their results.
Edit = Callable[[Node], None]


def with_edits(
    program: ExportedProgram, elsewhere: Container[Node], edits: Callable[[Node], Sequence[Edit]]
) -> ExportedProgram | None:
    """The program with its nodes edited; the one given is left as it is.

    Args:
        elsewhere: nodes that do not run on the CPU.
        edits: of a node, in their order.

    Returns:
        None: there are none.
    """
    found = {node: made for node in program.graph.nodes if node not in elsewhere and (made := edits(node))}
    graphs = [node for node in program.graph.find_nodes(op="get_attr") if is_graph(node)]
    bodies = [
        node
        for node in graphs
        if not any(user in elsewhere for user in node.users)
        and any(edits(inner) for part in _parts(program, node) for inner in part.graph.nodes)
    ]
    if not found and not bodies:
        return None
    program, twins = copy_with_twins(program)
    for node, made in found.items():
        for edit in made:
            edit(twins[node])
    for node in (twins[node] for node in bodies):
        own = copy.deepcopy(program.graph_module.get_submodule(str(node.target)))  # another program may share it
        for part in graphs_of(own):
            for inner in list(part.graph.nodes):
                for edit in edits(inner):
                    edit(inner)
            part.recompile()
        node.target = f"{node.name}_edited"
        program.graph_module.add_submodule(node.target, own)
    return program


def before(node: Node, target: Any, args: tuple[Any, ...], value: Any = None, **named: Any) -> Node:
    """An operator in front of a node, of whose source it is.

    Args:
        value: stands for its result, as in ``Node.meta``; None: what the operator makes of its operands' own.
    """
    if value is None:
        value = target(*map_arg(args, lambda n: n.meta["val"]), **named)
    with node.graph.inserting_before(node):
        made: Node = node.graph.call_function(target, args, named)
    made.meta = {key: known for key, known in node.meta.items() if key != "unbacked_bindings"} | {"val": value}
    return made


def typed(node: Node, argument: Any) -> Node:
    """An operand of a node as a tensor of its result's type."""
    dtype = node.meta["val"].dtype
    if not isinstance(argument, Node):
        return before(node, _aten.full.default, ([], of_type(argument, dtype).item()), dtype=dtype)
    value = argument.meta["val"]
    if not isinstance(value, torch.Tensor):
        wide = torch.zeros((), dtype=torch.int64)
        argument = before(node, _aten.full.default, ([], argument), wide, dtype=torch.int64)
    elif value.dtype is dtype:
        return argument
    return before(node, _aten._to_copy.default, (argument,), dtype=dtype)


def become(node: Node, target: Any, *args: Any, **named: Any) -> None:
    """Makes a node call another operator, of the same result."""
    node.target, node.args, node.kwargs = target, args, named


def _parts(program: ExportedProgram, node: Node) -> list[Any]:
    return graphs_of(operator.attrgetter(str(node.target))(program.graph_module))
