"""Makes a program functional, without tracing it if operators in place directly follow the maker of their operand."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from ..compat.torch import can_decompose, is_transform, out_of_place_twin, schema_of
from ..lowering.exported_program import copy_program, mutable, source_line
from ..support.errors import UsageError
from .decompose import run_decompositions
from .wrapped_graphs import graphs_of, is_wrapper, unwrap

#: Checks that export leaves in a program; ExecuTorch drops them. They must not count as users of a tensor.
_CHECKS = frozenset({torch.ops.aten._assert_tensor_metadata.default})

#: Composites that never return their operand; others may, such as ``dropout`` in eval mode, and do not say so.
_FRESH_COMPOSITES = frozenset(
    getattr(torch.ops.aten, name).default
    for name in ("batch_norm", "conv1d", "conv2d", "conv3d", "group_norm", "instance_norm", "layer_norm", "linear")
)


def is_check_or_wrapper(node: Node) -> bool:
    """Whether a node is a check of metadata, a graph that is only wrapped, or of ``torch.vmap``: they are removed."""
    return node.target in _CHECKS or is_wrapper(node) or is_transform(node.target)


def without_transforms(program: ExportedProgram) -> ExportedProgram:
    """The program without ``torch.vmap``, whose operators are those of whole tensors once PyTorch traces it."""
    return run_decompositions(program, {}) if transforms(program.graph_module) else program


def transforms(module: GraphModule) -> list[Node]:
    """The parts of ``torch.vmap`` in a module, those in graphs within it too."""
    return [node for part in graphs_of(module) for node in part.graph.nodes if is_transform(node.target)]


def functional(program: ExportedProgram) -> ExportedProgram:
    """The program without operators in place, checks of metadata and wrapped graphs; the one given is left as it is.

    Raises:
        UsageError: the model writes to one of its parameters.
    """
    program = out_of_place(program)
    require_constant_parameters(program)
    if not any(map(mutable, program.graph.nodes)):
        return program
    program = run_decompositions(program, {})
    require_constant_parameters(program)
    return program


def require_constant_parameters(program: ExportedProgram) -> None:
    """Refuses a traced program that writes to a parameter: its new numbers would be lost."""
    for result, parameter in program.graph_signature.parameters_to_mutate.items():
        line = next(source_line(node) for node in program.graph.nodes if node.name == result)
        raise UsageError(
            f"the model writes to its parameter {parameter}{f' at {line}' if line else ''}, as an embedding with "
            "max_norm does. Make it a buffer, or write to it once before the model is exported"
        )


def out_of_place(program: ExportedProgram) -> ExportedProgram:
    """As ``functional``, without tracing: operators that overwrite a tensor with other readers stay as they are."""
    program = unwrapped(without_transforms(program))
    if not any(node.target in _CHECKS or mutable(node) for node in program.graph.nodes):
        return program
    program = copy_program(program)
    for node in list(program.graph.nodes):
        if node.target in _CHECKS:
            program.graph.erase_node(node)
        elif _returns_its_operand(node):
            operand = node.args[0]
            node.replace_all_uses_with(operand)
            program.graph_signature.replace_all_uses(node.name, operand.name)
    for node in program.graph.nodes:
        if mutable(node):
            node.target = _twin(node) or node.target
    program.graph.eliminate_dead_code()
    return program


def _returns_its_operand(node: Node) -> bool:
    """Whether it is a dropout that drops nothing. It returns its operand, and tracing makes another tensor of it."""
    if node.target is not torch.ops.aten.dropout.default:
        return False
    _, probability, training = node.args
    return not training or not probability


def unwrapped(program: ExportedProgram) -> ExportedProgram:
    """Puts the operators of a graph that is only wrapped in the place of its call."""
    if not any(map(is_wrapper, program.graph.nodes)):
        return program
    program = copy_program(program)
    for before, after in unwrap(program.graph_module).items():
        program.graph_signature.replace_all_uses(before, after)
    program.graph.eliminate_dead_code()
    return program


def _schema(node: Node) -> Any:
    return schema_of(node.target) if node.op == "call_function" else None


def _twin(node: Node) -> Any:
    """The operator that gives the same result out of place, if nobody else reads or shares the overwritten tensor."""
    operand = node.args[0] if node.args else None
    if not isinstance(operand, Node) or len(operand.users) > 1 or not is_fresh(operand):
        return None
    return out_of_place_twin(node.target)


def is_fresh(node: Node) -> bool:
    """Whether an operator made its result anew: no view of anything."""
    schema = _schema(node)
    if schema is None or not isinstance(node.meta.get("val"), torch.Tensor):
        return False
    if mutable(node):
        return _twin(node) is not None
    composite = can_decompose(node.target)
    return all(r.alias_info is None for r in schema.returns) and (not composite or node.target in _FRESH_COMPOSITES)
