"""Written inputs, and buffers with an input's name, in a form that ExecuTorch (1.5) gets right."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from ..compat.torch import tree_leaves
from ..lowering.exported_program import copy_program, mutable, source_line
from ..support.errors import WrittenInputWarning
from .functionalize import functional, is_fresh, require_constant_parameters, unwrapped


def settle_state(program: ExportedProgram) -> ExportedProgram:
    """The program that writes to copies of its inputs, with buffers that ExecuTorch tells from inputs.

    Of an input that is written to, ExecuTorch makes a result in front of the others. It mistakes an
    input for a written buffer of the same name. The program given is left as it is.

    Warns:
        WrittenInputWarning: it writes to an input; names it, and the line.
    """
    return _with_buffers_apart(with_own_inputs(program))


def with_own_inputs(program: ExportedProgram) -> ExportedProgram:
    """The program that writes to copies of its inputs; itself if it writes to none.

    Raises:
        UsageError: it writes to a parameter.

    Warns:
        WrittenInputWarning: it writes to an input; names it, and the line.
    """
    require_constant_parameters(program)
    plain, signature = unwrapped(program), program.graph_signature
    names = {*signature.user_inputs, *signature.inputs_to_parameters}
    given = {n for n in plain.graph.find_nodes(op="placeholder") if n.name in names}
    changed = functional(plain) if any(_may_write(node, given) for node in plain.graph.nodes) else program
    written = {str(spec.target): _node_named(changed, spec.arg.name) for spec in _written_inputs(changed)}
    if not written:
        return program
    places = "; ".join(f"{name}{f' at {line}' if (line := source_line(n)) else ''}" for name, n in written.items())
    warnings.warn(
        f"the model writes to its input {places}: the program gives the same results, and leaves its inputs as they "
        "are. Where a caller needs the new numbers, return them, too; to say that nobody does, write to x.clone()",
        WrittenInputWarning,
        stacklevel=4,
    )
    return _with_results_only(program) if list(_written_inputs(program)) else _with_copies(program, written)


def _written_inputs(program: ExportedProgram) -> list[Any]:
    return [spec for spec in program.graph_signature.output_specs if spec.kind is OutputKind.USER_INPUT_MUTATION]


def _node_named(program: ExportedProgram, name: str) -> Node:
    named: Node = next(node for node in program.graph.nodes if node.name == name)
    return named


def _may_write(node: Node, given: Collection[Node]) -> bool:
    """Whether an operator in place may write to a tensor given: its operand is the tensor, or may be a view of it."""
    if not mutable(node):
        return False
    for operand in tree_leaves(node.args[:1]):
        while isinstance(operand, Node) and operand.op == "call_function" and not is_fresh(operand):
            operand = operand.args[0] if operand.args else None
        if operand in given:
            return True
    return False


def _with_copies(program: ExportedProgram, names: Collection[str]) -> ExportedProgram:
    program = copy_program(program)
    first = next(node for node in program.graph.nodes if node.op != "placeholder")
    for node in [n for n in program.graph.find_nodes(op="placeholder") if n.name in names]:
        with program.graph.inserting_before(first):
            copy = program.graph.call_function(torch.ops.aten.clone.default, (node,))
        copy.meta = {**node.meta, "val": node.meta["val"].clone()}
        node.replace_all_uses_with(copy, lambda user, copy=copy: user is not copy)
        for spec in program.graph_signature.output_specs:
            if spec.arg.name == node.name:
                spec.arg.name = copy.name
    return program


def _with_results_only(program: ExportedProgram) -> ExportedProgram:
    """A functional program without the results that stand for its inputs."""
    program = copy_program(program)
    specs = program.graph_signature.output_specs
    output = program.graph.output_node()
    positions = [i for i, spec in enumerate(specs) if spec.kind is not OutputKind.USER_INPUT_MUTATION]
    results: Any = output.args[0]
    output.args = (tuple(results[i] for i in positions),)
    program.graph_signature.output_specs[:] = [specs[i] for i in positions]
    program.graph.eliminate_dead_code()
    return program


def _with_buffers_apart(program: ExportedProgram) -> ExportedProgram:
    signature = program.graph_signature
    inputs = set(map(str, signature.user_inputs))
    names = {name: _free(name, inputs, program) for name in signature.inputs_to_buffers.values() if name in inputs}
    return _renamed(program, names) if names else program


def _free(name: str, inputs: Collection[str], program: ExportedProgram) -> str:
    while name in inputs or name in program.state_dict or name in program.constants:
        name += "_"
    return name


def _renamed(program: ExportedProgram, names: Mapping[str, str]) -> ExportedProgram:
    """A copy with other names for buffers."""
    program = copy_program(program)
    signature = program.graph_signature
    for specs, kind in (
        (signature.input_specs, InputKind.BUFFER),
        (signature.output_specs, OutputKind.BUFFER_MUTATION),
    ):
        for spec in specs:
            if spec.kind is kind and spec.target in names:
                spec.target = names[spec.target]
    for data in (program.state_dict, program.constants):
        for name in names.keys() & data.keys():
            data[names[name]] = data.pop(name)
    return program
