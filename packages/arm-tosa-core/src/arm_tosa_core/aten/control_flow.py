"""``torch.cond`` as a choice: both branches are computed, and the condition chooses between their results.

Branches have no side effects, so this is ``torch.cond``. TOSA's COND_IF would need an extension that neither
Ethos-U nor VGF has, and its branches could not be calibrated in one run (docs/adr/0005).
"""

from __future__ import annotations

import operator
from typing import Any, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import GraphModule, Node

from ..lowering.exported_program import attribute, copy_program, is_graph

_COND = torch.ops.higher_order.cond


def is_choice(node: Node) -> bool:
    """Whether a node is a ``torch.cond``."""
    return node.target is _COND


def with_choices(program: ExportedProgram) -> ExportedProgram:
    """The program without ``torch.cond``; itself if it has none, else the one given is left as it is."""
    if not program.graph.find_nodes(op="call_function", target=_COND):
        return program
    program = copy_program(program)
    choose(program.graph_module)
    _lift_constants(program)
    results = cast(list[Any], program.graph.output_node().args[0])
    for spec, node in zip(program.graph_signature.output_specs, results, strict=True):
        if isinstance(node, Node):
            spec.arg.name = node.name
    return program


def _lift_constants(program: ExportedProgram) -> None:
    """Makes constants of branches inputs of the program, in place, as constants of programs are."""
    specs = program.graph_signature.input_specs
    for node in program.graph.find_nodes(op="get_attr"):
        if is_graph(node):
            continue
        place = next((i for i, spec in enumerate(specs) if spec.kind is InputKind.USER_INPUT), len(specs))
        with program.graph.inserting_before(list(program.graph.nodes)[place]):
            constant = program.graph.placeholder(f"c_{str(node.target).replace('.', '_')}")
        constant.meta = dict(node.meta)
        specs.insert(place, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(constant.name), constant.name))
        program.constants[constant.name] = attribute(node)
        node.replace_all_uses_with(constant)
        program.graph.erase_node(node)


def choose(module: GraphModule) -> None:
    """Replaces every ``torch.cond`` of a module, in place; nested ones too."""
    for node in module.graph.find_nodes(op="call_function", target=_COND):
        with module.graph.inserting_before(node):
            chosen = _chosen(module, "", node, {n: n for n in node.all_input_nodes})
        for user in list(node.users):
            assert user.target is operator.getitem, f"{user} uses the results of a torch.cond as one"
            user.replace_all_uses_with(chosen[cast(int, user.args[1])])
            module.graph.erase_node(user)
        branches = cast(list[Node], node.args[1:3])
        module.graph.erase_node(node)
        for branch in branches:
            if not branch.users:
                module.graph.erase_node(branch)
    module.recompile()


def _chosen(module: GraphModule, path: str, node: Node, copies: dict[Node, Any]) -> list[Node]:
    """The results of a ``torch.cond``, made where the module's graph inserts.

    Args:
        path: from the module to the one that the branches belong to, with a dot at its end.
    """
    condition, yes, no, operands = cast(tuple[Node, Node, Node, list[Node]], node.args)
    results = [_inlined(module, f"{path}{b.target}", [copies[n] for n in operands]) for b in (yes, no)]
    return [_where(module, copies[condition], *pair) for pair in zip(*results, strict=True)]


def _inlined(module: GraphModule, path: str, operands: list[Node]) -> list[Node]:
    branch = cast(GraphModule, module.get_submodule(path))
    copies: dict[Node, Any] = dict(zip(branch.graph.find_nodes(op="placeholder"), operands, strict=True))
    for node in branch.graph.nodes:
        if node.op == "output":
            return [copies[result] for result in cast(list[Node], node.args[0])]
        if node.target is _COND:
            copies[node] = _chosen(module, f"{path}.", node, copies)
        elif node.target is operator.getitem and isinstance(copies[node.all_input_nodes[0]], list):
            copies[node] = copies[node.all_input_nodes[0]][cast(int, node.args[1])]
        elif node.op != "placeholder" and not is_graph(node):
            copies[node] = new = module.graph.node_copy(node, copies.__getitem__)
            if node.op == "get_attr":
                new.target = f"{path}.{node.target}"
    raise AssertionError("a branch without results")


def _where(module: GraphModule, condition: Node, yes: Node, no: Node) -> Node:
    chosen = module.graph.call_function(torch.ops.aten.where.self, (condition, yes, no))
    chosen.meta = {**yes.meta, "val": yes.meta["val"]}
    return chosen
