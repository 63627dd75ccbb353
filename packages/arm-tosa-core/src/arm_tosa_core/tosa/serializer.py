"""A TOSA graph as a ``.tosa`` flatbuffer (tosa.fbs of tosa-tools, identifier "TOSA"), version 1.0.0 or 1.1.0 draft.

Equal graphs give equal bytes: tensors with a name keep it, all others are numbered, or called after the model. No
software version is written: readers then apply TOSA's own version rules instead of refusing files of a newer
tosa-tools.
"""

from __future__ import annotations

from itertools import chain, count
from typing import Any

import numpy as np
from tosa.DType import DType as SchemaDType
from tosa.Op import Op as SchemaOp

from ..support.errors import LoweringError
from .flatbuffer import Field, Offsets, Table, Vector, int32_vector, write
from .graph import Graph, content
from .ir import DType, Op, Tensor
from .packing import pack
from .specification import TosaSpecification
from .table import ENUMS, OPERATORS, Attribute

#: Numbers in the schema's ``DType``.
DTYPE_NUMBERS = {dtype: number for dtype in DType if (number := getattr(SchemaDType, dtype, None)) is not None}
#: UINT8 is INT8 there: only RESCALE takes or makes it (``table.check``), and its attributes say unsigned.
_SIGNED = {DType.UINT8: DType.INT8}

#: Numbers in the schema's ``Op``, and of each operator's attribute table in its union ``Attribute``.
OP_NUMBERS = {name: number for name, number in vars(SchemaOp).items() if name[0] != "_" and name != "UNKNOWN"}

IDENTIFIER = b"TOSA"
_NO_ATTRIBUTES = Table()


#: Offsets within a flatbuffer are of 31 bits (flatbuffers.dev, "Internals"); readers refuse larger files.
MOST_BYTES = (1 << 31) - 1


def serialize(graph: Graph, spec: TosaSpecification, *, locations: bool = False, readable: bool = False) -> bytes:
    """The flatbuffer of ``graph``.

    Args:
        graph: operators in data-flow order, each with complete attributes (``table.infer``).
        spec: the specification that the graph is for; its version is the file's.
        locations: also write each operator's ``origin.source``.
        readable: call tensors after the model, ``MODULE/NODE/OPERATOR``, not by numbers; constants after the operator
            that reads them first, ``MODULE/NODE/OPERATOR/OPERAND``. Equal parts of a model then are no longer equal.

    Raises:
        LoweringError: a tensor has a type that the format lacks (UINT16), or an operand that nothing produces; or the
            flatbuffer is too large.
    """
    return serialize_with_names(graph, spec, locations=locations, readable=readable)[0]


def serialize_with_names(
    graph: Graph, spec: TosaSpecification, *, locations: bool = False, readable: bool = False
) -> tuple[bytes, dict[str, Tensor]]:
    """``serialize``, and the tensors by their names in the flatbuffer."""
    minor = spec.version.minor
    version = Table(("i", 1), ("i", minor), ("i", 0), ("B", int(minor > 0)))  # major, minor, patch, draft
    waiting, regions, used = [graph], [], {graph.name}
    names: dict[str, Tensor] = {}
    while waiting:
        writer = _Writer(waiting.pop(0), locations, readable, used)
        regions.append(writer.write())
        names = names or writer.tensors_by_name()
        waiting += writer.nested
    flatbuffer = write(Table(version, Offsets(regions)), IDENTIFIER)
    if len(flatbuffer) > MOST_BYTES:
        raise LoweringError(
            f"the TOSA flatbuffer takes {len(flatbuffer) / 2**20:,.0f} MiB, and a flatbuffer has at most "
            f"{MOST_BYTES / 2**20:,.0f} MiB: quantize the weights, or compile the model in parts"
        )
    return flatbuffer, names


class _Writer:
    """Writes one region.

    Args:
        regions: names of regions that are taken; those of graphs within operators are added.
    """

    def __init__(self, graph: Graph, locations: bool, readable: bool, regions: set[str]) -> None:
        self.graph = graph
        self.locations = locations
        self.readable = _names_in_model(graph) if readable else {}
        self.regions = regions
        self.nested: list[Graph] = []
        self.operators: list[Table] = []
        self.tensors: list[Table] = []
        self.shapes: list[Table] = []
        self.names: dict[int, str] = {}  # by id of the tensor
        self.taken: set[str] = set()
        self.constants: dict[tuple[DType, tuple[int, ...], bytes], str] = {}
        self.count = 0

    def write(self) -> Table:
        graph = self.graph
        inputs = [self.claim(tensor, "input") for tensor in graph.inputs]
        outputs = self.output_names()
        for tensor in graph.inputs:
            self.tensor(tensor)
        for constant in graph.constants():
            self.constant(constant)
        for op in graph.ops:
            self.op(op)
        for tensor, name in zip(graph.outputs, outputs, strict=True):
            self.copy(tensor, name)
        block = Table(
            graph.name,
            Offsets(self.operators),
            Offsets(self.tensors),
            Offsets(inputs),
            Offsets(outputs),
            Offsets(self.shapes),
        )
        return Table(graph.name, Offsets([block]))

    def tensors_by_name(self) -> dict[str, Tensor]:
        """The inputs of the graph and the results of its operators."""
        results = (tensor for op in self.graph.ops for tensor in op.outputs)
        return {self.names[id(tensor)]: tensor for tensor in (*self.graph.inputs, *results)}

    def nest(self, graph: Graph) -> str:
        """The name of the region of a graph within an operator."""
        graph.name = _free(graph.name, self.regions)
        self.nested.append(graph)
        return graph.name

    def claim(self, tensor: Tensor, default: str) -> str:
        """Names a graph input or output."""
        return self.names.setdefault(id(tensor), self.unique(tensor, default))

    def unique(self, tensor: Tensor, default: str) -> str:
        """A name that nothing else has: the user's if there is one."""
        return _free(tensor.name or f"{default}_{len(self.taken)}", self.taken)

    def output_names(self) -> list[str]:
        """Names of the outputs. One that is an input, a constant or listed twice gets a name that ``copy`` gives it."""
        names = []
        for tensor in self.graph.outputs:
            if id(tensor) in self.names or tensor.is_constant:
                names.append(self.unique(tensor, "output"))
            else:
                names.append(self.claim(tensor, "output"))
        return names

    def name(self, tensor: Tensor) -> str:
        """A new name of a tensor."""
        if preferred := tensor.name or self.readable.get(id(tensor)):
            return _free(preferred, self.taken)
        while (name := f"t{self.count}") in self.taken:
            self.count += 1
        self.taken.add(name)
        return name

    def tensor(self, tensor: Tensor, data: memoryview | None = None) -> str:
        """Lists a tensor."""
        name = self.names.setdefault(id(tensor), "") or self.name(tensor)
        self.names[id(tensor)] = name
        if tensor.dtype is DType.SHAPE:
            self.shapes.append(Table(name, ("I", tensor.size)))
        else:
            self.tensors.append(_tensor(name, tensor, data))
        return name

    def constant(self, constant: Tensor) -> None:
        assert constant.data is not None
        data = pack(constant.data, constant.dtype)
        key = (_SIGNED.get(constant.dtype, constant.dtype), constant.shape, content(data))
        name = self.constants.get(key)
        if name is not None:
            self.names[id(constant)] = name
            return
        if constant.dtype is DType.SHAPE:
            name = self.names[id(constant)] = self.name(constant)
            self.shapes.append(Table(name, ("I", constant.size), Vector(data, len(data), 8)))
            self.emit("CONST_SHAPE", [], [name], _NO_ATTRIBUTES)
        else:
            name = self.tensor(constant, data)
            self.emit("CONST", [], [name], _NO_ATTRIBUTES)
        self.constants[key] = name

    def op(self, op: Op) -> None:
        try:
            inputs = [self.names[id(tensor)] for tensor in op.inputs]
        except KeyError:
            raise LoweringError(f"{op.name} uses a tensor that no earlier operator makes: {op}") from None
        outputs = [self.tensor(tensor) for tensor in op.outputs]
        source = op.origin.source if self.locations and op.origin else ""
        self.emit(op.name, inputs, outputs, self.attributes(op), source)

    def attributes(self, op: Op) -> Table:
        stored = [a for a in OPERATORS[op.name].attributes if a.stored]
        values = [(a, self.nest(op.attrs[a.name]) if a.type == "graph" else op.attrs[a.name]) for a in stored]
        return Table(*(_attribute(op, a, value) for a, value in values)) if stored else _NO_ATTRIBUTES

    def copy(self, tensor: Tensor, name: str) -> None:
        """Makes the output ``name`` of a tensor that has another name: TOSA wants each output made by an operator."""
        source = self.names.get(id(tensor))
        if source is None:
            raise LoweringError(f"no operator makes the graph output {name}")
        if source != name:
            self.tensors.append(_tensor(name, tensor))
            self.emit("IDENTITY", [source], [name], _NO_ATTRIBUTES)

    def emit(self, name: str, inputs: list[str], outputs: list[str], attributes: Table, source: str = "") -> None:
        number = OP_NUMBERS[name]
        self.operators.append(
            Table(
                ("I", number),
                ("B", number),
                attributes,
                Offsets(inputs),
                Offsets(outputs),
                Table(source) if source else None,
            )
        )


def _names_in_model(graph: Graph) -> dict[int, str]:
    """Names of results and constants, by id, of operators that say where they come from."""
    names: dict[int, str] = {}
    for op in graph.ops:
        if op.origin is None or not op.origin.node:
            continue
        path = "/".join(filter(None, (op.origin.module, op.origin.node, op.name)))
        for tensor in op.outputs:
            names[id(tensor)] = path
        operands = OPERATORS[op.name].operands
        for position, tensor in enumerate(op.inputs):
            if tensor.is_constant:
                operand = operands[min(position, len(operands) - 1)]  # the last may be any number of them
                names.setdefault(id(tensor), f"{path}/{operand.name}")
    return names


def _free(preferred: str, used: set[str]) -> str:
    """A free name, which is in use from now on."""
    names = chain([preferred], (f"{preferred}_{suffix}" for suffix in count(1)))
    name = next(name for name in names if name not in used)
    used.add(name)
    return name


def _tensor(name: str, tensor: Tensor, data: memoryview | None = None) -> Table:
    number = DTYPE_NUMBERS.get(_SIGNED.get(tensor.dtype, tensor.dtype))
    if number is None:
        raise LoweringError(f"TOSA has no tensors of type {tensor.dtype}: {tensor}")
    stored = None if data is None else Vector(data, len(data), 8)
    return Table(name, int32_vector(tensor.shape), ("I", number), stored)


def _attribute(op: Op, attribute: Attribute, value: Any) -> Field:
    match attribute.type:
        case "int":
            return ("i", value)
        case "bool":
            return ("B", int(value))
        case "ints":
            return int32_vector(value)
        case "dtype":
            return ("I", DTYPE_NUMBERS[value])
        case "enum":
            return ("I", ENUMS[attribute.name][value])
        case "value":
            return _bytes(pack(np.asarray([value]), op.inputs[0].dtype))
        case "bytes":
            return _bytes(value)
        case _:
            text: str = value
            return text


def _bytes(data: bytes | memoryview) -> Vector:
    return Vector(data, len(data), 1)
