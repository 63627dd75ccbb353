"""Programs with compute shaders, and what the model converter 0.11 does to them.

- Outputs come in the order of the segments that make them. ``convert_shaders`` brings them back to the graph's.
- A result of a shader that nothing reads is left out, and the results behind it have the bindings of others. Such
  shaders are refused.
- Of the results of one shader, outputs of the program get the bindings of those before them that are none; refused.
- Segments do not say which operator they come from. So each shader's SPIR-V is converted with its number in the word of
  its header that names a generator, which is put back afterwards.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from arm_tosa_core.support.errors import MiscompiledError, UsageError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

from .constraints import SHADERS
from .flatbuffer_table import Table
from .vgf_format import MODULES, RESOURCES, SEQUENCE, place, section
from .vgf_ports import outputs_in_order

_TOOL = "model-converter"
_OUTPUTS = 2  # of the sequence
_CODE_TYPE, _CODE = 3, 4  # of a module
_SPIRV = 1  # a type of code
_MODULE, _SETS = 2, 3  # of a segment
_SET_BINDINGS, _SET_INDEX = 0, 1  # of a descriptor set
_BINDING, _RESOURCE = 0, 1  # of a slot
_DESCRIPTION, _ALIAS = 3, 6  # of a resource
_NONE = 0xFFFFFFFF
#: The byte of a SPIR-V module at which its generator stands.
_GENERATOR = 8
#: Other generators are far below.
_TAG = 0xA5000000


def convert_shaders(tosa: bytes, spec: TosaSpecification, convert: Callable[[bytes], bytes]) -> bytes:
    """The VGF of a flatbuffer, with its outputs in the flatbuffer's order.

    Args:
        convert: the model converter.

    Raises:
        UsageError: a shader's attributes are damaged, a result of one is read by nothing, or the order of outputs
            cannot be told.
        ToolError: the model converter failed, or made other segments than one for each shader.
    """
    if SHADERS.encode() not in tosa:
        return convert(tosa)
    graph = load(tosa)
    shaders = [_Shader.of(op) for op in graph.ops if op.name == "CUSTOM" and op.attrs["domain_name"] == SHADERS]
    if not shaders:
        return convert(tosa)
    for number, shader in enumerate(shaders):
        shader.require_read(graph)
        shader.op.attrs = {**shader.op.attrs, "implementation_attrs": shader.tagged(_TAG + number)}
    vgf = convert(serialize(graph, spec))
    try:
        return _Program(vgf, graph, shaders).finished()
    except (struct.error, IndexError, KeyError) as error:
        raise MiscompiledError(_TOOL, f"its segments cannot be read ({type(error).__name__}: {error})") from error


@dataclass(frozen=True)
class _Shader:
    """An operator of a shader: its attributes, and the code among them."""

    op: Op
    attributes: Mapping[str, Any]
    code: bytes

    @staticmethod
    def of(op: Op) -> _Shader:
        try:
            attributes = json.loads(op.attrs["implementation_attrs"])
            code = base64.b64decode(attributes["shader_code"], validate=True)
            struct.unpack_from("<I", code, _GENERATOR)
        except (ValueError, KeyError, TypeError, struct.error, binascii.Error) as error:
            name = op.attrs["operator_name"]
            raise UsageError(f"shader {name} has no SPIR-V in its attributes ({type(error).__name__})") from None
        return _Shader(op, attributes, code)

    @property
    def name(self) -> str:
        return str(self.op.attrs["operator_name"])

    def require_read(self, graph: Graph) -> None:
        """Refuses results that nothing reads, and outputs behind results that are no outputs.

        Raises:
            UsageError: there is one.
        """
        numbers = [graph.outputs.index(x) if x in graph.outputs else len(graph.outputs) for x in self.op.outputs]
        if numbers != sorted(numbers):
            raise UsageError(
                f"shader {self.name} has results that leave the program behind one that does not, or in another order, "
                f"and {_TOOL} would give them wrong bindings: return those that leave first, or use two shaders"
            )
        for number, tensor in enumerate(self.op.outputs):
            if not tensor.uses and tensor not in graph.outputs:
                raise UsageError(
                    f"result {number} of shader {self.name} is read by nothing, and {_TOOL} would give the others "
                    "wrong bindings: use a shader without it"
                )

    def tagged(self, tag: int) -> bytes:
        """The attributes with this generator in the code."""
        code = bytearray(self.code)
        struct.pack_into("<I", code, _GENERATOR, tag)
        return json.dumps({**self.attributes, "shader_code": base64.b64encode(code).decode()}).encode()

    def ends(self) -> Iterator[tuple[str, int, Tensor, tuple[int, int]]]:
        """Inputs and outputs: which, the number, the tensor, and its descriptor set and binding."""
        for end, tensors in (("input", self.op.inputs), ("output", self.op.outputs)):
            for i, tensor in enumerate(tensors):
                yield end, i, tensor, tuple(self.attributes[f"{end}_{i}_{key}"] for key in ("descriptorset", "binding"))


class _Program:
    """A VGF as the converter wrote it, beside the graph."""

    def __init__(self, vgf: bytes, graph: Graph, shaders: list[_Shader]) -> None:
        self._vgf, self._graph, self._shaders = bytearray(vgf), graph, shaders
        self._sequence, self._resources, self._modules = (
            Table.root(section(vgf, number)) for number in (SEQUENCE, RESOURCES, MODULES)
        )
        self._groups = [each.number(_ALIAS, _NONE) for each in self._resources.tables(0)]

    def finished(self) -> bytes:
        """The file with the code's generators as they were, and its outputs in order."""
        made = self._results_of_shaders()
        slots = [slot.number(_RESOURCE) for slot in self._sequence.tables(_OUTPUTS)]
        if len(slots) == len(self._graph.outputs):  # else the comparison of ports says it
            order = [self._place(tensor, slots, made) for tensor in self._graph.outputs]
            return outputs_in_order(bytes(self._vgf), order)
        return bytes(self._vgf)

    def _results_of_shaders(self) -> dict[int, int]:
        """Where each result of a shader lies: its storage, by the tensor's ``id``."""
        modules = list(map(self._shader_of, self._modules.tables(0)))
        found: dict[int, int] = {}
        for segment in self._sequence.tables(0):
            shader = modules[segment.number(_MODULE)]
            if shader is None:
                continue
            bound = {
                (each.number(_SET_INDEX, number), slot.number(_BINDING)): slot.number(_RESOURCE)
                for number, each in enumerate(segment.tables(_SETS))
                for slot in each.tables(_SET_BINDINGS)
            }
            for end, number, tensor, key in shader.ends():
                if key not in bound:
                    raise MiscompiledError(_TOOL, f"{end} {number} of shader {shader.name} has no binding")
                if end == "output":
                    found[id(tensor)] = self._storage(bound[key])
        for shader in self._shaders:
            if any(id(tensor) not in found for tensor in shader.op.outputs):
                raise MiscompiledError(_TOOL, f"the shader {shader.name} is left out")
        return found

    def _shader_of(self, module: Table) -> _Shader | None:
        """Whose code a module has, with the generator put back; None: it is of a graph."""
        if module.byte(_CODE_TYPE) != _SPIRV:
            return None
        at = module.table(_CODE).vector(0)[0] + _GENERATOR + place(self._vgf, MODULES)[0]
        number: int = struct.unpack_from("<I", self._vgf, at)[0] - _TAG
        if not 0 <= number < len(self._shaders):
            return None
        shader = self._shaders[number]
        self._vgf[at : at + 4] = shader.code[_GENERATOR : _GENERATOR + 4]
        return shader

    def _storage(self, resource: int) -> int:
        """One number for all resources that share memory."""
        group = self._groups[resource]
        return resource if group == _NONE else -1 - group

    def _place(self, tensor: Tensor, slots: list[int], made: Mapping[int, int]) -> int:
        """Where the converter put an output: by the shader that makes it, or, of those of graphs, by their order."""
        written = list(map(self._storage, slots))
        if id(tensor) in made:
            if made[id(tensor)] not in written:
                raise MiscompiledError(_TOOL, "an output that a shader makes is no output")
            return written.index(made[id(tensor)])
        graphs = [t for t in self._graph.outputs if id(t) not in made]
        places = [i for i, storage in enumerate(written) if storage not in made.values()]
        if len({self._maker(written[i]) for i in places}) == 1:
            return places[next(i for i, t in enumerate(graphs) if t is tensor)]
        if sum(t.shape == tensor.shape for t in graphs) > 1:
            raise UsageError(
                f"outputs of shape {list(tensor.shape)} are made before a shader and behind one, and {_TOOL} does not "
                "say which is which: return them in different shapes"
            )
        resources = self._resources.tables(0)
        return next(i for i in places if resources[slots[i]].table(_DESCRIPTION).shape() == tensor.shape)

    def _maker(self, storage: int) -> int:
        """The first segment that has a storage, which is the one that makes it."""
        for number, segment in enumerate(self._sequence.tables(0)):
            slots = (slot for each in segment.tables(_SETS) for slot in each.tables(_SET_BINDINGS))
            if any(self._storage(slot.number(_RESOURCE)) == storage for slot in slots):
                return number
        raise KeyError(storage)
