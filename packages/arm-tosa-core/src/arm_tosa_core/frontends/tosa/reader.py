"""Reads a ``.tosa`` file into a ``FileGraph``.

A node is an operator of TOSA with its constants, and with the operators before it whose results PyTorch has no type for
(shapes, sums of 48 bits).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from ...lowering.tosa_operators import text_of
from ...support.errors import Rejected, UsageError
from ...support.printable import printable
from ...tosa.dtypes import from_array, has_torch_type, tosa_to_torch
from ...tosa.graph import Graph
from ...tosa.ir import Op, Tensor
from ...tosa.loader import load, version_of
from ...tosa.specification import TosaSpecification
from ...tosa.table import OPERATORS
from ..file_graph import FileGraph, FileNode
from ..file_inputs import FileInput
from ..refusals import refused

#: What to do about tensors that programs of PyTorch do not have.
_AS_IT_IS = "`compile` takes the file as it is, for a target's own format"


def read(path: Path) -> FileGraph:
    """The graph in the file.

    Raises:
        UsageError: it is no ``.tosa`` file, or damaged; or an input or output has a type that PyTorch lacks.
        OSError: it cannot be read.
    """
    data, file = path.read_bytes(), printable(path.name)
    try:
        return _Reader(data).made()
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    except Rejected as error:
        raise refused(file, error, _AS_IT_IS) from error


class _Reader:
    """Names the tensors of a graph and makes its nodes."""

    def __init__(self, data: bytes) -> None:
        self.graph = load(data)
        self.spec = TosaSpecification(frozenset({"INT", "FP"}), version=version_of(data))
        self._names: dict[Tensor, str] = {}
        self._taken: set[str] = set()
        self._constants: dict[str, torch.Tensor] = {}

    def made(self) -> FileGraph:
        graph = self.graph
        for tensor in (*graph.inputs, *graph.outputs):
            if not has_torch_type(tensor.dtype):
                raise Rejected(f"the tensor {self._name(tensor)!r} is of {tensor.dtype}, which PyTorch lacks")
        inputs = tuple(FileInput(self._name(t), t.shape, tosa_to_torch(t.dtype)) for t in graph.inputs)
        kept = [op for op in graph.ops if all(has_torch_type(tensor.dtype) for tensor in op.outputs)]
        nodes = tuple(self._node(op, place) for place, op in enumerate(kept, 1))
        outputs = tuple(self._value(tensor) for tensor in graph.outputs)
        return FileGraph(inputs, outputs, nodes, self._constants)

    def _node(self, op: Op, place: int) -> FileNode:
        part, tensors = Graph(), dict[Tensor, Tensor]()
        operands: list[str] = []

        def own(tensor: Tensor) -> Tensor:
            if tensor in tensors:
                return tensors[tensor]
            operands.append(self._value(tensor))  # one that is read twice is there twice
            return part.input(f"operand {len(operands)}", tensor.shape, tensor.dtype)

        for one in _with_unheld(op):
            fixed = {one.inputs[i] for i in OPERATORS[one.name].constants if not OPERATORS[one.name].variadic}
            for tensor in one.inputs:
                if tensor.data is not None and (tensor in fixed or not has_torch_type(tensor.dtype)):
                    tensors[tensor] = part.constant(tensor.data, tensor.dtype)
            made = part.append(one.name, [own(tensor) for tensor in one.inputs], dict(one.attrs))
            tensors.update(zip(one.outputs, made.outputs, strict=True))
        part.outputs = [tensors[tensor] for tensor in op.outputs]
        names = tuple(self._name(tensor) for tensor in op.outputs)
        attributes = {"operator": made, "graph": text_of(part, self.spec)}
        return FileNode(names[0], op.name, tuple(operands), names, place, attributes)

    def _value(self, tensor: Tensor) -> str:
        name = self._name(tensor)
        if tensor.data is not None and name not in self._constants:
            self._constants[name] = from_array(tensor.data, tosa_to_torch(tensor.dtype)).reshape(tensor.shape)
        return name

    def _name(self, tensor: Tensor) -> str:
        if tensor not in self._names:
            name = printable(tensor.name or "") or f"tensor {len(self._names)}"
            while name in self._taken:
                name += "'"
            self._taken.add(name)
            self._names[tensor] = name
        return self._names[tensor]


def _with_unheld(op: Op) -> Iterator[Op]:
    """An operator, and before it those that make what PyTorch has no type for, each once."""
    seen: dict[Op, None] = {}

    def walk(one: Op) -> None:
        for tensor in one.inputs:
            if tensor.producer is not None and not has_torch_type(tensor.dtype):
                walk(tensor.producer)
        seen.setdefault(one)

    walk(op)
    return iter(seen)
