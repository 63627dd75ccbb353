"""Reads a ``.tflite`` file into a ``FileGraph``.

The integers of a quantized file stay integers between operators, which compute with real numbers: a tensor that an
operator reads is dequantized, and what it makes is quantized, with the file's scales. This is the form in which PyTorch
leaves a quantized program. Where no result of an operator is quantized, its constants are real numbers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...support.errors import Rejected, UsageError
from ...support.foreign import index, sizes
from ...support.printable import printable
from ..file_graph import FileGraph, FileNode, Subgraph
from ..file_inputs import FileInput
from ..refusals import DAMAGED, refused
from . import operators
from .constants import KINDS, OTHERS, constant
from .flatbuffer import Table
from .graph import Graph, Operator, Quantization, Tensor
from .rows import ROWS
from .same_scales import is_real, require_scales
from .stateful import STATES, state_sizes, with_states

_IDENTIFIER = b"TFL3"
_OUTSIDE = "write the variable outside of it"
#: Graphs that call each other; no converter makes as many.
_NESTING = 32
#: Operators with all those of graphs that are called; no model has as many.
_OPERATORS = 1 << 17
#: Operators of this kind add a constant to sums of products, whose scale it has.
_WITH_BIAS = {
    "CONV_2D": (0, 1, 2),
    "DEPTHWISE_CONV_2D": (0, 1, 2),
    "FULLY_CONNECTED": (0, 1, 2),
    "LSTM": (0, 1, 3),
    "SVDF": (4, 2, 3),
    "TRANSPOSE_CONV": (2, 1, 3),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, 1, 3),
    "CUSTOM Convolution2DTransposeBias": (0, 1, 2),
}
#: Names that the reader gives to tensors of its own.
_OURS = re.compile(r"\((real|dequantized|signed|scales|zeros|next|variable|\d+|weights of the \w+|biases)\)$")
_RANGES = {
    torch.int8: (-128, 127),
    torch.uint8: (0, 255),
    torch.int16: (-32768, 32767),
    torch.int32: (-(2**31), 2**31 - 1),
}


def read(path: Path) -> FileGraph:
    """The graph in the file.

    Raises:
        UsageError: it is no ``.tflite`` file, or damaged.
        OSError: it cannot be read.
    """
    return parse(path.read_bytes(), printable(path.name))


def parse(data: bytes, file: str) -> FileGraph:
    """The graph in a file's bytes."""
    if data[4:8] != _IDENTIFIER:
        raise UsageError(
            f'{file} is not a .tflite file: the file identifier "TFL3" is missing. Copy it again, or convert it again; '
            "a file of another format needs that format's suffix"
        )
    try:
        graphs = list(_graphs(data))
        if not graphs:
            raise UsageError("it has no graph")
        return _Maker(graphs).made()
    except (UsageError, Rejected) as error:
        raise refused(file, error, DAMAGED) from error
    except (struct.error, ValueError, LookupError, OverflowError, MemoryError, RuntimeError) as error:
        raise UsageError(f"{file} is damaged or cut short. Copy it again, or make it again") from error


def _graphs(data: bytes) -> Iterator[Graph]:
    root = Table.root(data)
    codes = [max(table.number(3), table.number(0, "b")) for table in root.children(1)]
    kinds = [operators.name(code) for code in codes]
    for place, table in enumerate(root.children(1)):
        if kinds[place] == "CUSTOM":
            kinds[place] = f"CUSTOM {printable(table.text(1))}"
    buffers = root.children(4)
    names: set[str] = {""}
    for table in root.children(2):
        tensors = [_tensor(data, one, buffers, names) for one in table.children(0)]
        count = len(tensors)
        inputs, outputs = (tuple(index(i, count, "the tensor") for i in table.integers(field)) for field in (1, 2))
        yield Graph(tensors, inputs, outputs, [_operator(one, kinds, tensors) for one in table.children(3)])


def _tensor(data: bytes, table: Table, buffers: list[Table], names: set[str]) -> Tensor:
    name = printable(table.text(3)) or f"tensor {len(names)}"
    while name in names or _OURS.search(name):
        name += "'"
    names.add(name)
    kind = table.number(1, "b")
    if kind not in KINDS:
        raise Rejected(
            f"the tensor {name!r} has the type {OTHERS.get(kind, kind)}, which is not read",
            "make the file without it, or cut the graph before it",
        )
    shape = table.integers(0)
    open_sizes = table.integers(7) or shape
    sizes(shape, f"the tensor {name!r}")
    dtype = KINDS[kind].dtype
    buffer = buffers[index(table.number(2, "I"), len(buffers), f"the buffer of {name!r}")]
    known = constant(data, buffer, table, KINDS[kind], name)
    quantization = _quantization(table.child(4), dtype, shape, KINDS[kind].bits, name)
    return Tensor(
        name,
        tuple(open_sizes) if len(open_sizes) == len(shape) else tuple(shape),
        dtype,
        quantization,
        known,
        table.number(5, "?", False),
    )


def _quantization(
    table: Table | None, dtype: torch.dtype, shape: Sequence[int], bits: int, name: str
) -> Quantization | None:
    scales = () if table is None else tuple(table.array(2, "f").tolist())
    if table is None or not scales or dtype not in _RANGES:
        return None
    zeros = tuple(table.integers(3, "q")) or (0,) * len(scales)
    zeros = zeros * len(scales) if len(zeros) == 1 else zeros
    axis = index(table.number(6), len(shape), f"the axis of scales of {name!r}") if len(scales) > 1 else 0
    if table.number(4, "B") or len(zeros) != len(scales) or (len(scales) > 1 and len(scales) != shape[axis]):
        raise Rejected(
            f"the tensor {name!r} has {len(scales)} scales and {len(zeros)} zero points, or scales of blocks",
            "quantize it with one scale, or one for each channel",
        )
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if bits < 8 else _RANGES[dtype]
    if wrong := [zero for zero in zeros if not low <= zero <= high]:
        raise Rejected(
            f"the tensor {name!r} has the zero point {wrong[0]}", f"quantize it with one from {low} to {high}"
        )
    return Quantization(scales, zeros, axis, low, high)


def _operator(table: Table, kinds: list[str], tensors: list[Tensor]) -> Operator:
    kind = kinds[index(table.number(0, "I"), len(kinds), "the operator code")]
    inputs = tuple(
        i if i == -1 else index(i, len(tensors), f"an input of {kind}: the tensor") for i in table.integers(1)
    )
    outputs = tuple(index(i, len(tensors), f"an output of {kind}: the tensor") for i in table.integers(2))
    attributes = operators.options(kind, table.child(12 if kind.startswith("STABLEHLO_") else 4))
    if table.has(5):
        attributes["custom"] = table.array(5, "B").tobytes()
    return Operator(kind, inputs, outputs, attributes)


class _Maker:
    """Makes the graph of the file's operators, those of graphs that they call, and what quantizes between them."""

    def __init__(self, graphs: list[Graph]) -> None:
        self._graphs = graphs
        self._nodes: list[FileNode] = []
        self._constants: dict[str, torch.Tensor] = {}
        self._dequantized: set[str] = set()
        self._variables: dict[str, str] = {}  # by name of a variable: the tensor that it is now
        self._starts: dict[str, torch.Tensor] = {}  # what variables are before the first call
        self._place = self._calls = 0

    def made(self) -> FileGraph:
        main = self._graphs[0]
        self._walk(main)
        inputs = tuple(FileInput(t.name, t.shape, t.dtype) for t in (main.tensors[i] for i in main.inputs))
        outputs = tuple(main.tensors[i].name for i in main.outputs)
        writes = {name: now for name, now in self._variables.items() if now != name}
        return FileGraph(inputs, outputs, tuple(self._nodes), self._constants, self._starts, writes)

    def _walk(self, graph: Graph, depth: int = 0) -> None:
        if depth > _NESTING or self._place > _OPERATORS:
            raise UsageError("its graphs call each other without end")
        self._constants.update({t.name: t.constant for t in graph.tensors if t.constant is not None})
        handles: dict[int, str] = {}  # the variable of a resource
        for one in graph.operators:
            if (known := _stored(graph, one)) is not None and known.constant is not None:
                graph.tensors[one.outputs[0]] = known
                self._constants[known.name] = known.constant
            elif one.kind == "VAR_HANDLE":
                handles[one.outputs[0]] = f"{printable(one.attributes['shared_name'])} (variable)"
            elif one.kind == "READ_VARIABLE":
                self._read(handles.get(one.inputs[0], ""), graph.tensors[one.outputs[0]])
            elif one.kind == "ASSIGN_VARIABLE":
                self._variables[handles.get(one.inputs[0], "")] = graph.tensors[one.inputs[1]].name
            elif one.kind == "CALL_ONCE":
                self._start(self._graphs[index(one.attributes["graph"], len(self._graphs), "the graph")], depth + 1)
            elif one.kind in STATES:
                self._stateful(graph, one)
            elif one.kind == "IF":
                self._if(graph, one, depth)
            elif one.kind == "WHILE":
                self._while(graph, one, depth)
            elif one.kind == "STABLEHLO_COMPOSITE":
                results = [graph.tensors[i].name for i in one.outputs]
                self._same(self._inline(graph, one, "graph", one.inputs, depth), results)
            else:
                self._operator(graph, one)

    def _read(self, variable: str, result: Tensor) -> None:
        if variable not in self._variables:
            raise Rejected(
                f"READ_VARIABLE {result.name!r}: the variable has no number before it is read",
                "give it a number in the graph that runs once at the start (CALL_ONCE)",
            )
        self._add(result.name, "same", (self._variables[variable],), (result.name,), {})

    def _start(self, graph: Graph, depth: int) -> None:
        """Gives variables the constants that a graph assigns, which runs once before the first call."""
        before = len(self._nodes)
        self._walk(graph, depth)
        for name, now in self._variables.items():
            if now not in self._constants or len(self._nodes) > before:
                raise Rejected(f"{name}: it starts with numbers that are computed", "give it constants")
            self._starts[name] = self._constants[now]
        self._variables = {name: name for name in self._variables}

    def _stateful(self, graph: Graph, one: Operator) -> None:
        """An operator that reads and writes variables, which begin with what stands for 0."""
        count = len(graph.tensors)
        graph, one, writes = with_states(graph, one)
        self._constants.update({t.name: t.constant for t in graph.tensors[count:] if t.constant is not None})
        for place, state in enumerate(graph.tensors):
            if state.name not in writes:
                continue
            zero = state.quantization.zeros[0] if state.quantization and state.dtype == torch.int8 else 0
            self._starts.setdefault(state.name, torch.full(state_sizes(state), zero, dtype=state.dtype))
            graph.tensors[place] = replace(state, name=self._variables.get(state.name, state.name))
        self._operator(graph, one)
        self._variables.update(writes)

    def _called(self, one: Operator, key: str) -> Graph:
        """A graph that an operator calls, with names of its own: it may be called twice."""
        self._calls += 1
        called = self._graphs[index(one.attributes[key], len(self._graphs), "the graph")]
        return replace(called, tensors=[replace(t, name=f"{t.name} ({self._calls})") for t in called.tensors])

    def _inline(self, graph: Graph, one: Operator, key: str, operands: Sequence[int], depth: int) -> list[str]:
        """The operators of a graph in the place of the one that calls it, and the names of what they make."""
        called, variables = self._called(one, key), dict(self._variables)
        self._same(
            [graph.tensors[i].name for i in operands],
            [called.tensors[i].name for i in called.inputs],
        )
        self._walk(called, depth + 1)
        if self._variables != variables:
            raise Rejected(f"{one.kind} writes variables in one of its graphs", _OUTSIDE)
        return [called.tensors[i].name for i in called.outputs]

    def _same(self, made: Sequence[str], wanted: Sequence[str]) -> None:
        for operand, name in zip(made, wanted, strict=True):
            self._add(name, "same", (operand,), (name,), {})

    def _if(self, graph: Graph, one: Operator, depth: int) -> None:
        """Both graphs are computed; the condition chooses among their results."""
        condition, *operands = one.inputs
        branches = [self._inline(graph, one, key, operands, depth) for key in ("then_graph", "else_graph")]
        for i, *results in zip(one.outputs, *branches, strict=True):
            name = graph.tensors[i].name
            self._add(name, "choose", (graph.tensors[condition].name, *results), (name,), {})

    def _while(self, graph: Graph, one: Operator, depth: int) -> None:
        """Its graphs are kept apart: a row calls them as often as the condition holds."""
        graphs, variables, nodes = {}, dict(self._variables), self._nodes
        for key in ("cond_graph", "body_graph"):
            called, self._nodes = self._called(one, key), []
            self._walk(called, depth + 1)
            reads, makes = (tuple(called.tensors[i].name for i in ends) for ends in (called.inputs, called.outputs))
            graphs[key] = Subgraph(reads, makes, tuple(self._nodes))
        self._nodes = nodes
        if self._variables != variables:
            raise Rejected("WHILE writes variables in one of its graphs", _OUTSIDE)
        reads, makes = (tuple(graph.tensors[i].name for i in places) for places in (one.inputs, one.outputs))
        self._add(makes[0] if makes else one.kind, one.kind, reads, makes, {}, graphs)

    def _operator(self, graph: Graph, one: Operator) -> None:
        operands = [None if i < 0 else graph.tensors[i] for i in one.inputs]
        results = [graph.tensors[i] for i in one.outputs]
        name = results[0].name if results else one.kind
        if one.kind in ("QUANTIZE", "DEQUANTIZE") and any(t and t.quantization and not is_real(t) for t in operands):
            raise Rejected(
                f"{one.kind} {name!r} reads integers with 32 bits and a scale", "quantize them to 8 or 16 bits"
            )
        if any(result.quantization and len(result.quantization.scales) > 1 for result in results if is_real(result)):
            raise Rejected(f"{one.kind} {name!r} makes a tensor with a scale per channel", "give its result one scale")
        if one.kind == "CAST":  # of the integers themselves
            operands = [t and replace(t, quantization=None) for t in operands]
            results = [replace(t, quantization=None) for t in results]
        integers = any(t is not None and t.constant is None and is_real(t) for t in operands)
        integers = integers or (one.kind != "QUANTIZE" and any(map(is_real, results)))
        numbers = ROWS[one.kind].numbers if one.kind in ROWS else frozenset()
        reads = [
            "" if t is None else self._real(t, integers and place not in numbers) for place, t in enumerate(operands)
        ]
        if one.kind in _WITH_BIAS:
            self._bias(operands, reads, *_WITH_BIAS[one.kind])
        makes = [f"{t.name} (real)" if is_real(t) else t.name for t in results]
        attributes = {**one.attributes, "dtypes": tuple(t.dtype for t in results)}
        if integers:
            attributes["scales"] = tuple(t.quantization.scales[0] if t and t.quantization else None for t in operands)
            attributes["bits"] = tuple(t.dtype.itemsize * 8 if t else 0 for t in operands)
        self._add(name, one.kind, tuple(reads), tuple(makes), attributes)
        for result, made in zip(results, makes, strict=True):
            require_scales(one, operands, result)
            if (q := result.quantization) is not None and made != result.name:
                ends = {"scale": q.scales[0], "zero": q.zeros[0], "low": q.low, "high": q.high, "dtype": result.dtype}
                self._add(name, "quantize", (made,), (result.name,), ends)

    def _real(self, tensor: Tensor, keep: bool) -> str:
        """The name of the real numbers of a tensor that an operator reads.

        Args:
            keep: a constant's integers stay in the program.
        """
        q = tensor.quantization
        if q is None or not is_real(tensor):
            return tensor.name
        if tensor.constant is not None and not keep:
            name = f"{tensor.name} (real)"
            self._constants[name] = _dequantized(tensor.constant, q)
            return name
        name = f"{tensor.name} (dequantized)"
        if name in self._dequantized:
            return name
        self._dequantized.add(name)
        source = tensor.name
        if tensor.constant is not None and tensor.dtype == torch.uint8:  # constants of programs are signed
            q = replace(q, zeros=tuple(zero - 128 for zero in q.zeros), low=-128, high=127)
            source = f"{tensor.name} (signed)"
            self._constants[source] = (tensor.constant.to(torch.int16) - 128).to(torch.int8)
        attributes: dict[str, Any] = {"low": q.low, "high": q.high}
        reads: tuple[str, ...] = (source,)
        if len(q.scales) > 1:
            attributes["axis"] = q.axis
            reads = (source, f"{tensor.name} (scales)", f"{tensor.name} (zeros)")
            self._constants[reads[1]] = torch.tensor(q.scales)
            self._constants[reads[2]] = torch.tensor(q.zeros)
        else:
            attributes |= {"scale": q.scales[0], "zero": q.zeros[0]}
        self._add(tensor.name, "dequantize", reads, (name,), attributes)
        return name

    def _bias(self, operands: list[Tensor | None], reads: list[str], image: int, weight: int, bias: int) -> None:
        """A bias of integers becomes one of real numbers: its scale is that of the products."""
        x, w, b = (operands[i] if i < len(operands) else None for i in (image, weight, bias))
        if b is None or b.dtype not in (torch.int32, torch.int64):
            return
        if b.constant is None or not (x and w and x.quantization and w.quantization):
            raise Rejected(
                f"the bias {b.name!r} is no constant, or has integers where its layer has none",
                "make the file again, with constant biases, and layers quantized as a whole",
            )
        scales = np.array(w.quantization.scales) * x.quantization.scales[0]
        real = torch.from_numpy((b.constant.numpy() * scales).astype(np.float32))
        name = f"{b.name} (real)"
        while (known := self._constants.setdefault(name, real)) is not real and not torch.equal(known, real):
            name += " (real)"  # another layer, with other scales, has the same bias
        reads[bias] = name

    def _add(
        self,
        name: str,
        kind: str,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        attributes: dict[str, Any],
        graphs: Mapping[str, Subgraph] | None = None,
    ) -> None:
        self._place += 1
        self._nodes.append(FileNode(name, kind, inputs, outputs, self._place, attributes, graphs or {}))


def _stored(graph: Graph, one: Operator) -> Tensor | None:
    """The constant that an operator makes of one, if it says only how the file stores it."""
    if one.kind not in ("DENSIFY", "DEQUANTIZE") or len(one.inputs) != 1 or one.inputs[0] < 0:
        return None
    source, result = graph.tensors[one.inputs[0]], graph.tensors[one.outputs[0]]
    if source.constant is None or one.kind == "DENSIFY":
        return None if source.constant is None else replace(source, name=result.name)
    if is_real(source) and source.quantization is not None:
        return replace(result, constant=_dequantized(source.constant, source.quantization))
    return replace(result, constant=source.constant.float()) if source.dtype == torch.float16 else None


def _dequantized(integers: torch.Tensor, q: Quantization) -> torch.Tensor:
    shape = [1] * integers.dim()
    if len(q.scales) > 1:
        shape[q.axis] = len(q.scales)
    scales, zeros = torch.tensor(q.scales).reshape(shape), torch.tensor(q.zeros).reshape(shape)
    return ((integers - zeros) * scales).to(torch.float32)
