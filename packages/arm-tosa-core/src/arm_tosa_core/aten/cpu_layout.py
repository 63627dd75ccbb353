"""The memory order of tensors between delegates and the CPU; the same for both flows.

ExecuTorch turns views into copies, which are row-major, and its portable kernels read memory by their own idea of it:
all of them row-major tensors, a few channels_last ones, none any other. Some check that, others misread. So the CPU is
given channels_last tensors only where its kernel knows them, and row-major ones everywhere else.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node

from ..compat.executorch import default_decompositions, is_delegate_call
from ..compat.torch import OpOverload, schema_of, tree_map
from ..lowering.exported_program import CONSTANT_INPUTS, is_dequantize, is_quantize
from ..lowering.memory_order import memory_order, overlaps
from ..lowering.operator_names import canonical

#: Operators that give a tensor as it is in memory, or in the memory format that they are told.
_CASTS = ("aten.to.", "aten._to_copy.", "aten.clone.", "aten.contiguous.")
#: Operators of several elements whose portable kernels take channels_last tensors.
_LAYERS = ("aten.conv2d.default", "aten.convolution.default", "aten.max_pool2d.default")
#: Kinds of outputs with another reader than the caller: the copy back to a buffer.
_WRITTEN = frozenset({OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION})


@dataclass(frozen=True)
class Layout:
    """The changes that give every reader on the CPU memory in an order that its kernel knows.

    Args:
        metas: nodes and their fake results as ExecuTorch and the delegates make them, where ``torch.export`` says
            otherwise.
        copies: nodes, and their readers that need a row-major copy.
        constants: parameters and buffers whose data is to be row-major.
    """

    metas: dict[Node, Any] = field(default_factory=dict)
    copies: dict[Node, list[Node]] = field(default_factory=dict)
    constants: list[Node] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.metas or self.copies or self.constants)

    def apply(self, program: ExportedProgram, twins: dict[Node, Node]) -> None:
        """Changes a copy of the program, given the copy of each node."""
        for node, meta in self.metas.items():
            twins[node].meta["val"] = meta
        targets = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs}
        for node in self.constants:
            for source in (program.state_dict, program.constants):
                if isinstance(data := source.get(str(targets[node.name])), torch.Tensor):
                    source[str(targets[node.name])] = _as_parameter(data.detach().contiguous(), data)
        for node, readers in self.copies.items():
            first = min(twins[reader] for reader in readers)
            with program.graph.inserting_before(first):
                copy = program.graph.call_function(
                    torch.ops.aten.clone.default, (twins[node],), {"memory_format": torch.contiguous_format}
                )
            copy.meta = {**twins[node].meta, "val": _row_major(twins[node].meta["val"])}
            for reader in readers:
                twins[reader].replace_input_with(twins[node], copy)


def layout(program: ExportedProgram, regions: Mapping[Node, int]) -> Layout:
    """Finds how tensors outside of regions, and those that leave one, have to lie in memory.

    ``torch.export`` notes a view's strides, those of the tensor that it looks at.

    Args:
        regions: the nodes that are in a region, with its number.
    """
    return _Walk(program, regions).found


class _Walk:
    """One walk over a program, in its order."""

    def __init__(self, program: ExportedProgram, regions: Mapping[Node, int]) -> None:
        self.found = Layout()
        self.regions = regions
        self._written = _results_written(program)
        constants = {s.arg.name for s in program.graph_signature.input_specs if s.kind in CONSTANT_INPUTS}
        mutated = _mutated(program)
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name in constants:
                self._constant(node, node.name in mutated)
            elif node.op == "call_function" and node in regions:
                if any(regions.get(user) != regions[node] for user in node.users):
                    self._set(node, tree_map(_settled, node.meta.get("val")))
            elif node.op == "call_function" and not is_delegate_call(node):
                self._outside(node)
            elif node.op == "output":
                self._copies(node, self._written)

    def _now(self, node: Node) -> Any:
        return self.found.metas.get(node, node.meta.get("val"))

    def _set(self, node: Node, value: Any) -> None:
        if _strides(value) != _strides(node.meta.get("val")):
            self.found.metas[node] = value

    def _constant(self, node: Node, mutated: bool) -> None:
        readers = [user for user in node.users if user not in self.regions and user.op == "call_function"]
        if not _is_row_major(self._now(node)) and (mutated or not all(map(self._knows, readers))):
            self.found.constants.append(node)
            self._set(node, _row_major(node.meta["val"]))

    def _outside(self, node: Node) -> None:
        if not self._knows(node):
            self._copies(node, node.all_input_nodes)
        changed = [n for n in node.all_input_nodes if n in self.found.metas or node in self.found.copies.get(n, ())]
        result = self._result(node) if changed else node.meta.get("val")
        self._set(node, tree_map(_row_major if _is_view(node) else _settled, result))

    def _copies(self, reader: Node, operands: Collection[Node]) -> None:
        for node in operands:
            if isinstance(value := self._now(node), torch.Tensor) and not _is_row_major(value):
                self.found.copies.setdefault(node, []).append(reader)

    def _knows(self, node: Node) -> bool:
        """Whether the kernel of an operator reads its operands right as they lie in memory."""
        operands = [meta for n in node.all_input_nodes if isinstance(meta := self._now(n), torch.Tensor)]
        if all(map(_is_row_major, operands)) or _is_row_major_copy(node):
            return True
        if not all(_is_channels_last(meta) if meta.dim() == 4 else _is_row_major(meta) for meta in operands):
            return False
        reads_strides = _is_cast(node.target) or canonical(node.target) in _LAYERS or _is_function_of_one(node.target)
        return reads_strides or is_quantize(node) or is_dequantize(node)

    def _result(self, node: Node) -> Any:
        """The fake result of an operator, of the fake tensors that it reads."""
        target: Any = node.target
        decided_by_data = "unbacked_bindings" in node.meta  # another run would make other symbols of its sizes
        if decided_by_data or (target is not operator.getitem and not isinstance(target, OpOverload)):
            return node.meta["val"]

        def operand(n: Node) -> Any:
            return _row_major(self._now(n)) if node in self.found.copies.get(n, ()) else self._now(n)

        operands: Any = torch.fx.node.map_arg((node.args, node.kwargs), operand)
        return target(*operands[0], **operands[1])


def _results_written(program: ExportedProgram) -> list[Node]:
    results: Any = program.graph.output_node().args[0]
    specs = program.graph_signature.output_specs
    return [n for n, spec in zip(results, specs, strict=True) if spec.kind in _WRITTEN and isinstance(n, Node)]


def _mutated(program: ExportedProgram) -> set[str]:
    signature = program.graph_signature
    targets = set(signature.buffers_to_mutate.values())
    return {spec.arg.name for spec in signature.input_specs if spec.target in targets}


def _is_function_of_one(target: Any) -> bool:
    """Whether an operator computes each element of its result of one element of its one tensor.

    ExecuTorch makes a tensor of a number in a tensor's place. Operators that it decomposes have others inside.
    """
    if not isinstance(target, OpOverload) or torch.Tag.pointwise not in target.tags:
        return False
    tensors = [argument for argument in schema_of(target).arguments if "Tensor" in str(argument.type)]
    return len(tensors) == 1 and target not in default_decompositions()


def _is_cast(target: Any) -> bool:
    return canonical(target).startswith(_CASTS)


def _is_row_major_copy(node: Node) -> bool:
    return (
        canonical(node.target) == "aten.clone.default" and node.kwargs.get("memory_format") is torch.contiguous_format
    )


def _is_view(node: Node) -> bool:
    if not isinstance(node.target, OpOverload) or _is_cast(node.target):
        return False
    results = schema_of(node.target).returns
    return any(result.alias_info is not None and not result.alias_info.is_write for result in results)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    for tensor in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(tensor, torch.Tensor):
            yield tensor


def _strides(value: Any) -> list[Any]:
    return [tensor.stride() for tensor in _tensors(value)]


def _is_row_major(value: Any) -> bool:
    return all(memory_order(tensor) is None and not overlaps(tensor) for tensor in _tensors(value))


def _is_channels_last(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 4 and memory_order(tensor) == (0, 3, 1, 2)


def _row_major(value: Any) -> Any:
    return value.new_empty(value.shape) if isinstance(value, torch.Tensor) else value


def _settled(value: Any) -> Any:
    """A result as it may lie in memory at the edge of a delegate: row-major or channels_last."""
    if not isinstance(value, torch.Tensor) or _is_row_major(value) or _is_channels_last(value):
        return value
    return _row_major(value)


def _as_parameter(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return torch.nn.Parameter(tensor, like.requires_grad) if isinstance(like, torch.nn.Parameter) else tensor
