"""An ``.onnx`` file as a graph: its operators, its constants and its inputs. Nothing in the file is code.

Reference: https://onnx.ai/onnx/repo-docs/IR.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...support.errors import Rejected, UsageError
from ...support.foreign import inside
from ...support.foreign import sizes as checked_sizes
from ...support.printable import printable
from ..file_graph import FileGraph, FileNode, Subgraph
from ..file_inputs import FileInput
from ..refusals import DAMAGED, refused
from .attributes import STEP, Attributes
from .wider_types import SHIFT, WiderTypes

if TYPE_CHECKING:
    import onnx

#: The oldest opset whose operators broadcast as they do today.
_OLDEST = 7
#: The first version of the format in which an initializer can have the name of an input without being a constant.
_DEFAULTS = 4
#: PyTorch's type for each of ONNX's.
_TYPES = {
    "FLOAT": torch.float32,
    "UINT8": torch.uint8,
    "INT8": torch.int8,
    "INT16": torch.int16,
    "INT32": torch.int32,
    "INT64": torch.int64,
    "BOOL": torch.bool,
    "FLOAT16": torch.float16,
    "DOUBLE": torch.float64,
    "BFLOAT16": torch.bfloat16,
}
#: What to do about a second file.
BESIDE = "copy that file, whole, into the folder of the model"
#: In which type constants of others lie.
_STORED = {"INT4": torch.int8, "UINT4": torch.uint8, "UINT16": torch.int16}


def read(path: Path) -> FileGraph:
    """The graph of a file.

    Raises:
        UsageError: it is no ONNX file, is damaged, or is too new or too old; or ``onnx`` is not installed.
        OSError: it cannot be read.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise UsageError(
            f"reading {path} needs the package onnx: python -m pip install 'arm-tosa-core[onnx]'"
        ) from error
    try:
        model = onnx.load_model_from_string(path.read_bytes())
    except (DecodeError, ValueError) as error:
        raise _no_onnx(path, str(error)) from error
    if not model.ir_version or not model.HasField("graph"):
        raise _no_onnx(path, "it has no graph")
    opsets = {_domain(entry.domain): entry.version for entry in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    if not _OLDEST <= opsets.get("", 1) <= newest:
        raise UsageError(
            f"{path} has the opset {opsets.get('', 1)}; {_OLDEST} to {newest} are read. Export it again, with "
            "opset_version=17 for example"
        )
    if model.functions:
        from onnx.inliner import inline_local_functions

        model = inline_local_functions(model)
    try:
        return _Reader(path, opsets, defaults=model.ir_version >= _DEFAULTS).graph(model.graph)
    except (UsageError, Rejected) as error:
        raise refused(printable(path.name), error, DAMAGED) from error


def _no_onnx(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} is no ONNX file, or is damaged: {' '.join(why.split())}. Copy it again, or export it again; a file of "
        "another format needs that format's suffix"
    )


class _Reader:
    """Reads the graphs of one file: the model's, and those of the branches in it.

    Args:
        defaults: an initializer with the name of an input is what the input is if nobody gives it.
    """

    def __init__(self, path: Path, opsets: Mapping[str, int], *, defaults: bool = False) -> None:
        self._path, self._opsets, self._defaults = path, opsets, defaults
        self._place = 0
        self._branches = False  # whether a node has graphs of its own
        self._constants: dict[str, torch.Tensor] = {}  # of all graphs
        self._wider = WiderTypes()

    def graph(self, graph: onnx.GraphProto) -> FileGraph:
        """The model's graph."""
        names = self._names(graph, "", {})
        constants = self._initializers(graph, names)
        inputs = [self._input(entry, names) for entry in graph.input if names[entry.name] not in constants]
        defaults = {}
        if self._defaults:
            optional = [entry for entry in graph.input if names[entry.name] in constants]
            defaults = {names[entry.name]: constants.pop(names[entry.name]) for entry in optional}
            inputs += [self._input(entry, names, defaults[names[entry.name]]) for entry in optional]
        self._constants.update(constants)
        nodes = self._nodes(graph, names)
        nodes = [_with_step(node, nodes, {**self._constants, **defaults}) for node in nodes]
        outputs = self._outputs(graph, names)
        if not self._branches:  # which may read what would be gone
            nodes = _with_swish(nodes, outputs)
        return FileGraph(tuple(inputs), outputs, tuple(nodes), self._constants)

    def _subgraph(self, graph: onnx.GraphProto, prefix: str, outer: Mapping[str, str]) -> Subgraph:
        """A graph that an operator calls.

        Args:
            prefix: of the names of its tensors, because several graphs may have the same names.
            outer: the names around it, as the file has them, and as they are called here.
        """
        self._branches = True
        names = self._names(graph, prefix, outer)
        self._constants.update(self._initializers(graph, names))
        nodes = self._nodes(graph, names)
        inputs = tuple(names[entry.name] for entry in graph.input)
        return Subgraph(inputs, self._outputs(graph, names), tuple(nodes))

    def _names(self, graph: onnx.GraphProto, prefix: str, outer: Mapping[str, str]) -> dict[str, str]:
        names = dict(outer)
        for entry in [*graph.initializer, *graph.input]:
            names[entry.name] = prefix + _text(entry.name)
        for node in graph.node:
            names.update({name: prefix + _text(name) for name in node.output if name})
        return names

    def _initializers(self, graph: onnx.GraphProto, names: Mapping[str, str]) -> dict[str, torch.Tensor]:
        if graph.sparse_initializer:
            raise Rejected("sparse initializers are not read", "store them dense")
        return {names[tensor.name]: self._tensor(tensor, names[tensor.name]) for tensor in graph.initializer}

    def _outputs(self, graph: onnx.GraphProto, names: Mapping[str, str]) -> tuple[str, ...]:
        outputs = tuple(names.get(entry.name, _text(entry.name)) for entry in graph.output)
        self._wider.require_none(outputs)
        return outputs

    def _nodes(self, graph: onnx.GraphProto, names: Mapping[str, str]) -> list[FileNode]:
        nodes: list[FileNode] = []
        wanted = _read_names(graph)
        made = {names[entry.name] for entry in [*graph.initializer, *graph.input]}
        for node in graph.node:
            self._place += 1
            read = self._wider.read(self._node(node, names, wanted))
            if twice := [name for name in read.outputs if name and name in made]:
                raise UsageError(f"{read.kind} {read.name!r} makes {twice[0]!r}, which is there already")
            made.update(read.outputs)
            if not read.outputs:
                continue  # nobody can read what it makes
            if read.kind == "Constant":
                self._constants[read.outputs[0]] = self._constant(node, read)
            else:
                nodes.append(read)
        return nodes

    def _node(self, node: onnx.NodeProto, names: Mapping[str, str], wanted: set[str]) -> FileNode:
        domain = _domain(node.domain)
        name = _text(node.name) or f"of {_text(next(iter(node.output), ''))}"
        holds = names.get(next(iter(node.output), ""), "") if node.op_type == "Constant" else ""
        graphs = {
            entry.name: self._subgraph(entry.g, f"{name}, {self._place}/", names)
            for entry in node.attribute
            if entry.HasField("g")
        }
        given = {entry.name: self._attribute(entry, holds) for entry in node.attribute if entry.name not in graphs}
        inputs, outputs = list(node.input), list(node.output)
        if wanted.intersection(outputs) and node.op_type != "BatchNormalization":  # its outputs may say that it trains
            outputs = [one if one in wanted else "" for one in outputs]
        for ends in (inputs, outputs):
            while ends and not ends[-1]:
                ends.pop()  # left out, as if it were not there
        return FileNode(
            name,
            _text(f"{domain}.{node.op_type}" if domain else node.op_type),
            tuple(names.get(one, _text(one)) for one in inputs),
            tuple(names[one] if one else "" for one in outputs),
            self._place,
            Attributes(given, node.op_type, domain, self._opsets.get(domain, 1)),
            graphs,
        )

    def _attribute(self, entry: onnx.AttributeProto, holds: str) -> Any:
        kind = type(entry).AttributeType.Name(entry.type)
        if entry.ref_attr_name:
            raise Rejected(
                f"attribute {_text(entry.name)} refers to one of a function", "export the model without functions"
            )
        if kind == "TENSOR":
            return self._tensor(entry.t, holds)
        if kind in ("FLOAT", "INT"):
            return entry.f if kind == "FLOAT" else entry.i
        if kind in ("FLOATS", "INTS"):
            return list(entry.floats if kind == "FLOATS" else entry.ints)
        if kind == "STRING":
            return printable(entry.s.decode(errors="replace"))
        if kind == "STRINGS":
            return [printable(one.decode(errors="replace")) for one in entry.strings]
        return kind  # a row that reads it refuses it

    def _constant(self, node: onnx.NodeProto, read: FileNode) -> torch.Tensor:
        for entry in node.attribute:
            value = read[entry.name]
            if entry.name == "value" and isinstance(value, torch.Tensor):
                return value
            if entry.name in ("value_float", "value_floats"):
                return torch.tensor(value, dtype=torch.float32)
            if entry.name in ("value_int", "value_ints"):
                return torch.tensor(value, dtype=torch.int64)
        raise Rejected(f"Constant {read.name!r}: it holds no dense tensor of numbers", "store it as one")

    def _input(
        self, entry: onnx.ValueInfoProto, names: Mapping[str, str], default: torch.Tensor | None = None
    ) -> FileInput:
        name = names[entry.name]
        if not entry.type.HasField("tensor_type") or not entry.type.tensor_type.HasField("shape"):
            raise Rejected(
                f"the input {name!r} is no tensor whose number of axes the file says",
                "export the model with the sizes of its inputs",
            )
        tensor = entry.type.tensor_type
        shape = tuple(
            int(axis.dim_value) if axis.HasField("dim_value") and axis.dim_value >= 0 else _text(axis.dim_param) or -1
            for axis in tensor.shape.dim
        )
        return FileInput(name, shape, _dtype(tensor.elem_type, f"the input {name!r}"), default)

    def _tensor(self, tensor: onnx.TensorProto, name: str) -> torch.Tensor:
        """A constant.

        Args:
            name: of the tensor that it is; ``""``: it is only an attribute.
        """
        from onnx import TensorProto, numpy_helper

        subject = f"the constant {_text(tensor.name) or name!r}"
        kind = type_name(tensor.data_type)
        if name and kind in _STORED:
            dtype = _STORED[kind]
            self._wider.note(name, kind)
        else:
            dtype = _dtype(tensor.data_type, subject)
        sizes = checked_sizes(tensor.dims, subject)
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor = self._with_data(tensor, subject)
        try:
            array = np.ascontiguousarray(numpy_helper.to_array(tensor)).reshape(sizes)
        except Exception as error:  # numpy and onnx raise what their parsers do
            raise UsageError(f"{subject} is damaged: {' '.join(str(error).split())}") from error
        if dtype is torch.bfloat16:
            return torch.from_numpy(array.view(np.int16).copy()).view(dtype)
        if kind in _STORED:
            array = np.asarray(array.astype(np.int32) + (SHIFT if kind == "UINT16" else 0))
        return torch.from_numpy(array.copy()).to(dtype)

    def _with_data(self, tensor: onnx.TensorProto, subject: str) -> onnx.TensorProto:
        """The tensor with the data of a file beside the model, which its entries name."""
        from onnx import TensorProto

        entries = {entry.key: entry.value for entry in tensor.external_data}
        file = inside(self._path.parent, entries.get("location"))
        if file.exists() and not file.is_file():  # a pipe would never end
            raise Rejected(f"{subject} has its data in {file}, which is no file", BESIDE)
        try:
            offset, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
            with file.open("rb") as stream:
                stream.seek(offset)
                data = stream.read(min(length, file.stat().st_size) if "length" in entries else -1)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{subject} has its data at {printable(str(entries))}, which is no place") from error
        except OSError as error:
            raise Rejected(
                f"{subject} has its data in {file}, which cannot be read: {error.strerror}", BESIDE
            ) from error
        if "length" in entries and len(data) != length:
            raise Rejected(f"{subject} has {length} bytes in {file}, which has {len(data)} there", BESIDE)
        whole = TensorProto()
        whole.CopyFrom(tensor)
        whole.ClearField("external_data")
        whole.data_location = TensorProto.DEFAULT
        whole.raw_data = data
        return whole


def _read_names(graph: onnx.GraphProto) -> set[str]:
    """The tensors that are outputs, or that a node reads; graphs of branches read some of those around them."""
    read = {entry.name for entry in graph.output}
    for node in graph.node:
        read.update(node.input)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                read |= _read_names(inner)
    return read


def _with_swish(nodes: Sequence[FileNode], outputs: Sequence[str]) -> list[FileNode]:
    """``x * Sigmoid(x)`` as the one operator that it was in PyTorch: one table, which rounds once."""
    reads = Counter(name for node in nodes for name in node.inputs)
    sigmoids = {node.outputs[0]: node for node in nodes if node.kind == "Sigmoid" and node.outputs[0] not in outputs}
    made, gone = [], set()
    for node in nodes:
        x, y = (*node.inputs, "", "")[:2]
        x, y = (x, y) if y in sigmoids else (y, x)
        if node.kind == "Mul" and y in sigmoids and reads[y] == 1 and sigmoids[y].inputs == (x,):
            gone.add(sigmoids[y].place)
            node = replace(node, kind="Swish", inputs=(x,), attributes={"alpha": 1.0})
        made.append(node)
    return [node for node in made if node.place not in gone]


def _with_step(node: FileNode, nodes: Sequence[FileNode], constants: Mapping[str, torch.Tensor]) -> FileNode:
    """A softmax between DequantizeLinear and QuantizeLinear with the step of its integers, which its row needs."""
    if node.kind != "Softmax" or not node.inputs or not isinstance(node.attributes, Attributes):
        return node
    made = next((one for one in nodes if one.kind == "DequantizeLinear" and node.inputs[0] in one.outputs), None)
    read = any(one.kind == "QuantizeLinear" and node.outputs[0] in one.inputs for one in nodes)
    scale = constants.get(made.inputs[1]) if made is not None and len(made.inputs) > 1 else None
    if not read or scale is None or scale.numel() != 1:
        return node
    return replace(node, attributes=node.attributes.noting(STEP, float(scale)))


def torch_type(number: int) -> torch.dtype | None:
    """PyTorch's type for a number of ``TensorProto.DataType``; none: it has none."""
    from onnx import TensorProto

    return _TYPES.get(TensorProto.DataType.Name(number)) if number in TensorProto.DataType.values() else None


def type_name(number: int) -> str:
    """What ONNX calls a number of ``TensorProto.DataType``."""
    from onnx import TensorProto

    known = number in TensorProto.DataType.values()
    return TensorProto.DataType.Name(number) if known else f"{number} of TensorProto.DataType"


def _dtype(number: int, subject: str) -> torch.dtype:
    dtype = torch_type(number)
    if dtype is None:
        raise Rejected(
            f"{subject} has the type {type_name(number)}, which is not read", f"use one of {', '.join(_TYPES)}"
        )
    return dtype


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else _text(domain)


def _text(name: str | bytes) -> str:
    """A name in the file, printable."""
    if not isinstance(name, str):  # protobuf gives bytes where they are no UTF-8
        raise UsageError(f"{name!r:.80} in it is no text")
    return printable(name)
