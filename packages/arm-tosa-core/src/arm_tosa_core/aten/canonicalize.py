"""One form for every program: functional, without control flow that can be a choice, of operators that have rules."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..compat.torch_sizes import example_size
from ..lowering.exported_program import copy_program, mutable, source_line
from ..lowering.memory_order import memory_order
from ..lowering.operator_names import canonical
from ..lowering.rule_set import RuleSet
from ..lowering.values import inverse
from ..support.errors import UsageError
from .control_flow import is_choice, with_choices
from .decompose import without_composites
from .functionalize import functional, is_check_or_wrapper, require_constant_parameters
from .no_elements import has_empty, without_empty
from .rows_by_value import has_row_by_value, indexed
from .uninitialized import is_uninitialized, with_zeros


def canonicalize(program: ExportedProgram, rules: RuleSet) -> ExportedProgram:
    """Brings a program in the ATen dialect to its one form; the one given is left as it is.

    Raises:
        UsageError: the model writes to one of its parameters.
    """
    require_constant_parameters(program)
    if any(map(has_row_by_value, program.graph.nodes)) and not any(map(mutable, program.graph.nodes)):
        program = indexed(program)  # a row is a view, which others may write to
    if any(mutable(node) or is_choice(node) or is_check_or_wrapper(node) for node in program.graph.nodes):
        program = functional(with_choices(functional(program)))
    for occurs, without in ((is_uninitialized, with_zeros), (has_empty, without_empty), (reads_memory, in_order)):
        if any(map(occurs, program.graph.nodes)):
            program = without(program)
    return without_composites(program, rules)


def reads_memory(node: Node) -> bool:
    """Whether a node reads memory that does not begin with its operand, or not in the order of the operand's axes."""
    if node.op != "call_function" or canonical(node.target) != "aten.as_strided.default":
        return False
    meta = _operand(node).meta["val"]
    return not meta.is_contiguous() or example_size(meta.storage_offset()) != 0 or not _is_inside(node)


def in_order(program: ExportedProgram) -> ExportedProgram:
    """The program whose strided reads read a tensor in memory order; the one given is left as it is.

    Raises:
        UsageError: memory is read that is not the operand's; says where.
    """
    program = copy_program(program)
    for node in filter(reads_memory, list(program.graph.nodes)):
        operand = _operand(node)
        meta = operand.meta["val"]
        axes = inverse(memory_order(meta) or tuple(range(meta.dim())))
        if not meta.permute(axes).is_contiguous() or not _is_inside(node):
            raise UsageError(
                f"as_strided at {source_line(node)} reads memory between or beyond the elements of {operand.name}, a "
                "part of another tensor. Write it with slices, or call contiguous() before it"
            )
        with program.graph.inserting_before(node):
            moved = program.graph.call_function(torch.ops.aten.permute.default, (operand, list(axes)))
            copy = program.graph.call_function(
                torch.ops.aten.clone.default, (moved,), {"memory_format": torch.contiguous_format}
            )
        moved.meta = {**operand.meta, "val": meta.permute(axes)}
        copy.meta = {**operand.meta, "val": moved.meta["val"].new_empty(moved.meta["val"].shape)}
        node.args = (copy, *node.args[1:3], _first(node))
    return program


def _operand(node: Node) -> Node:
    return node.all_input_nodes[0]


def _first(node: Node) -> int:
    """The element of its operand's memory that an ``as_strided`` reads first."""
    offset: Any = node.args[3] if len(node.args) > 3 else node.kwargs.get("storage_offset")
    begin = _operand(node).meta["val"].storage_offset()
    return 0 if offset is None else int(example_size(offset)) - int(example_size(begin))


def _is_inside(node: Node) -> bool:
    """Whether it reads no memory before its operand's first element or behind the last."""
    first, meta = _first(node), node.meta["val"]
    steps = zip(meta.shape, meta.stride(), strict=True)
    last = first + sum((example_size(n) - 1) * example_size(step) for n, step in steps)
    return first >= 0 and last < example_size(_operand(node).meta["val"].numel())
