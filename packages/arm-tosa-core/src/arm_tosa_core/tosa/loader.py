"""Reads a ``.tosa`` flatbuffer, from any front end, into a graph."""

from __future__ import annotations

import functools
import importlib
import struct
from typing import Any, NamedTuple

import numpy as np
from packaging.version import Version
from tosa.Attribute import Attribute as Union
from tosa.TosaGraph import TosaGraph

from ..support.errors import ArmTosaError, UsageError
from .graph import Graph
from .ir import DType, Origin, Tensor
from .packing import unpack
from .serializer import DTYPE_NUMBERS, IDENTIFIER, OP_NUMBERS
from .table import ENUMS, OPERATORS, Attribute

_DTYPES = {number: dtype for dtype, number in DTYPE_NUMBERS.items()}
# A graph may be so many times its file, by bytes of constants and operators; small ones as large as _SMALL.
_COPIES, _SMALL = 2, 1 << 16
# The size of an operator in a file at least, bytes.
_OPERATOR = 64
# Regions within each other; no front end makes as many.
_NESTING = 32
_OP_NAMES = {number: name for name, number in OP_NUMBERS.items()}


def load(data: bytes) -> Graph:
    """The graph in a flatbuffer of TOSA 1.0 or the draft of 1.1; ``serialize(load(b)) == b`` for its own output.

    Raises:
        UsageError: not a TOSA flatbuffer, damaged, of another version, or with variables, dynamic shapes, operators
            that the table lacks, or regions that are nested or shared without measure.
    """
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise UsageError(
            'not a TOSA flatbuffer: the file identifier "TOSA" is missing. Copy it again, or make it again'
        )
    try:
        return _load(data)
    except UsageError:
        raise
    except ArmTosaError as error:
        raise UsageError(f"the TOSA flatbuffer is not valid: {error}") from error
    except (struct.error, ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError) as error:
        # The generated accessors trust the offsets they read, so a damaged file fails in any of these ways.
        raise UsageError("the TOSA flatbuffer is damaged or cut short: copy it again, or make it again") from error


def _load(data: bytes) -> Graph:
    root = TosaGraph.GetRootAs(data)
    version = root.Version()
    number = (version._Major(), version._Minor())
    if (*number, bool(version._Draft())) not in ((1, 0, False), (1, 1, True)):
        draft = " draft" if version._Draft() else ""
        raise UsageError(f"the flatbuffer is of TOSA {number[0]}.{number[1]}{draft}; supported: 1.0, 1.1 draft")
    regions = [root.Regions(i) for i in range(root.RegionsLength())]
    if not regions or any(region.BlocksLength() != 1 for region in regions):
        raise UsageError("the flatbuffer has regions of several blocks, which are not supported")
    blocks = {_text(region.Name()): region.Blocks(0) for region in regions}
    if len(blocks) < len(regions):
        raise UsageError("the flatbuffer has two regions of one name")
    return _Regions(blocks, len(data)).read(_text(regions[0].Name()))


def version_of(data: bytes) -> Version:
    """The version of TOSA of a flatbuffer that ``load`` reads."""
    number = TosaGraph.GetRootAs(data).Version()
    return Version(f"{number._Major()}.{number._Minor()}")


class _Regions:
    """The regions of a file, which operators refer to by name.

    Operators may share a region, and each has a copy of it, so that a small file could stand for a graph without end.

    Args:
        blocks: the block of each.
        size: of the file, bytes.
    """

    def __init__(self, blocks: dict[str, Any], size: int) -> None:
        self._blocks = blocks
        self._allowance = _COPIES * size + _SMALL
        self._open: list[str] = []

    def read(self, name: str) -> Graph:
        """The graph of a region."""
        if name not in self._blocks:
            raise UsageError(f"an operator refers to region {name}, which the flatbuffer does not have")
        if name in self._open or len(self._open) == _NESTING:
            nested = " in ".join(reversed([*self._open[-3:], name]))
            raise UsageError(f"regions are nested without end, or deeper than {_NESTING}: {nested}")
        self._open.append(name)
        graph = _BlockReader(self._blocks[name], self).read()
        self._open.pop()
        return graph

    def take(self, size: int) -> None:
        """Notes that so many bytes of the file have become a part of the graph."""
        self._allowance -= size
        if self._allowance < 0:
            raise UsageError(f"operators share regions or data so that the graph is over {_COPIES} times the file")


class _BlockReader:
    """Reads a block."""

    def __init__(self, block: Any, regions: _Regions) -> None:
        self.block = block
        self.regions = regions
        self.graph = Graph(_text(block.Name()) or "main")
        self.declared: dict[str, tuple[tuple[int, ...], DType, Any]] = {}  # shape, type, the flatbuffer's tensor
        self.tensors: dict[str, Tensor] = {}  # those that exist so far

    def read(self) -> Graph:
        block, graph = self.block, self.graph
        for i in range(block.TensorsLength()):
            self.declare(block.Tensors(i))
        for i in range(block.ShapesLength()):
            shape = block.Shapes(i)
            self.declared[_text(shape.Name())] = ((shape.Rank(),), DType.SHAPE, shape)
        for i in range(block.InputsLength()):
            name = _text(block.Inputs(i))
            dims, dtype, _ = self.declaration(name)
            self.tensors[name] = graph.input(name, dims, dtype)
        for i in range(block.OperatorsLength()):
            self.operator(block.Operators(i))
        for i in range(block.OutputsLength()):
            name = _text(block.Outputs(i))
            tensor = self.operand(name, "the graph")
            tensor.name = tensor.name or name
            graph.outputs.append(tensor)
        return graph

    def declare(self, tensor: Any) -> None:
        name = _text(tensor.Name())
        number = tensor.Type()
        if number not in _DTYPES:
            raise UsageError(f"tensor {name} has data type number {number}, which is not supported")
        if tensor.Variable():
            raise UsageError(f"tensor {name} is a variable, which is not supported")
        dims = tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
        if tensor.IsUnranked() or any(d < 1 for d in dims):
            raise UsageError(f"tensor {name} has the shape {list(dims)}; dynamic and empty shapes are not supported")
        self.declared[name] = (dims, _DTYPES[number], tensor)

    def declaration(self, name: str) -> tuple[tuple[int, ...], DType, Any]:
        if name not in self.declared:
            raise UsageError(f"tensor {name} is not declared")
        return self.declared[name]

    def operand(self, name: str, user: str) -> Tensor:
        if name not in self.tensors:
            raise UsageError(f"{user} uses tensor {name} before anything makes it")
        return self.tensors[name]

    def operator(self, op: Any) -> None:
        self.regions.take(_OPERATOR)
        name = _OP_NAMES.get(op.Op(), f"operator number {op.Op()}")
        outputs = [_text(op.Outputs(i)) for i in range(op.OutputsLength())]
        if name in ("CONST", "CONST_SHAPE"):
            self.constant(outputs[0])
            return
        if name not in OPERATORS:
            raise UsageError(f"{name} is not supported")
        inputs = [self.operand(_text(op.Inputs(i)), name) for i in range(op.InputsLength())]
        results = [self.declaration(output)[:2] for output in outputs]
        attrs: dict[str, Any] = {}
        for attribute in OPERATORS[name].attributes:
            if attribute.name == "output_dtype":
                attrs["output_dtype"] = results[0][1]
            elif attribute.name == "results":
                attrs["results"] = results
            else:
                attrs[attribute.name] = self.attribute(op, attribute, inputs)
        source = _source(op)
        added = self.graph.append(name, inputs, attrs, Origin("", "", source) if source else None)
        actual = [(tensor.shape, tensor.dtype) for tensor in added.outputs]
        if actual != results:
            raise UsageError(f"{name} makes {_shown(actual)}, but {', '.join(outputs)} is declared {_shown(results)}")
        for output, tensor in zip(outputs, added.outputs, strict=True):
            tensor.name = output
            self.tensors[output] = tensor

    def constant(self, name: str) -> None:
        shape, dtype, stored = self.declaration(name)
        self.regions.take(stored.DataLength())
        raw = stored.DataAsNumpy() if stored.DataLength() else np.zeros(0, np.uint8)
        tensor = self.tensors[name] = self.graph.constant(unpack(raw, shape, dtype), dtype)
        tensor.name = tensor.name or name

    def attribute(self, op: Any, attribute: Attribute, inputs: list[Tensor]) -> Any:
        table = _attribute_table(op)
        if table is None:
            raise UsageError(f"{_OP_NAMES[op.Op()]} has no attributes")
        field = "".join(word.capitalize() for word in attribute.name.split("_"))
        if attribute.type in ("ints", "value", "bytes"):
            numbers = np.asarray(getattr(table, field + "AsNumpy")()).reshape(-1)
            if attribute.type == "ints":
                return tuple(numbers.tolist())
            if attribute.type == "bytes":
                return numbers.tobytes()
            return unpack(numbers.astype(np.uint8), (), inputs[0].dtype).item()
        value = getattr(table, field)()
        match attribute.type:
            case "dtype":
                return _DTYPES[value]
            case "enum":
                return {number: name for name, number in ENUMS[attribute.name].items()}[value]
            case "text":
                return _text(value)
            case "graph":
                return self.regions.read(_text(value))
        return value


@functools.cache
def _table_class(number: int) -> Any:
    (name,) = (key for key, n in vars(Union).items() if n == number)
    return getattr(importlib.import_module(f"tosa.{name}"), name)


def _attribute_table(op: Any) -> Any:
    if op.AttributeType() == Union.NONE:
        return None
    table = _table_class(op.AttributeType())()
    source = op.Attribute()
    table.Init(source.Bytes, source.Pos)
    return table


def _source(op: Any) -> str:
    """The line of the model that an operator comes from; empty where the file has none."""
    location = op.Location()
    return "" if location is None else _text(location.Text())


def _text(value: bytes | None) -> str:
    return value.decode() if value else ""


def _shown(results: list[tuple[tuple[int, ...], DType]]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in results)


class Listed(NamedTuple):
    """An operator of a file.

    Args:
        name: as TOSA has it.
        source: the line of the model; empty where the file has none.
        tensor: its first result.
    """

    name: str
    source: str
    tensor: str


def listed_operators(tosa: bytes) -> list[Listed]:
    """Each operator of the first block, as other tools count them: in the order of the file, constants among them.

    Args:
        tosa: a flatbuffer that ``load`` reads.
    """
    block = TosaGraph.GetRootAs(tosa).Regions(0).Blocks(0)
    operators = []
    for i in range(block.OperatorsLength()):
        operator = block.Operators(i)
        name = _OP_NAMES.get(operator.Op(), str(operator.Op()))
        tensor = _text(operator.Outputs(0)) if operator.OutputsLength() else ""
        operators.append(Listed(name, _source(operator), tensor))
    return operators
