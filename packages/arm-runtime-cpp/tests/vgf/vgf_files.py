"""Writes VGFs of a few segments, whole or with one thing wrong, with the VGF library's own encoder."""

from __future__ import annotations

import functools
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_vgf.model_converter import convert

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+FP+int16+bf16+fft")
TENSOR, STORAGE_BUFFER, UNIFORM_BUFFER = 1000460000, 7, 6  # VkDescriptorType
COMBINED, SAMPLED, STORAGE = 1, 2, 3  # of images
R8_UINT, R8_SINT, R16_UINT, R32_SINT, R32_SFLOAT = 13, 14, 74, 99, 100  # VkFormat
#: Opens a VGF on an engine.
Load = Callable[[bytes], Any]
SHADERS = Path(__file__).parent / "shaders"


def graph_vgf(op: str, dtype: DType, *shape: int, operands: int = 1, **attrs: Any) -> bytes:
    """What the model converter makes of one operator on inputs of one type and shape."""
    graph = Graph()
    inputs = [graph.input(f"x{i}", shape, dtype) for i in range(operands)]
    graph.outputs = list(graph.append(op, inputs, attrs).outputs)
    return convert(serialize(graph, SPEC))


def double_code(*shape: int) -> list[int]:
    """A graph that makes x + x of int32; entry point ``graph_partition_0``, input and output at bindings 0 and 1."""
    graph = Graph()
    x = graph.input("x", shape, DType.INT32)
    graph.outputs = [graph.append("ADD", [x, x]).output]
    return spirv(convert(serialize(graph, SPEC)))


def spirv(vgf: bytes) -> list[int]:
    """The code of a VGF's only module."""
    import vgfpy

    header = vgfpy.CreateHeaderDecoder(vgf, vgfpy.HeaderSize(), len(vgf))
    table = vgf[header.GetModuleTableOffset() :][: header.GetModuleTableSize()]
    modules = vgfpy.CreateModuleTableDecoder(table, len(table))
    return [int(word) for word in modules.getSPIRVModuleCode(0)]


def graph_seed(vgf: bytes) -> bytes:
    """A VGF of one graph as ``fuzz_graph.cpp`` reads it."""
    import vgfpy

    formats = (R8_SINT, 75, R32_SINT, 111, 1000460000, 1000460001, 76, R32_SFLOAT, 1000460002, 1000460003)
    signed = {R8_UINT: R8_SINT, R16_UINT: 75, 98: R32_SINT}
    header = vgfpy.CreateHeaderDecoder(vgf, vgfpy.HeaderSize(), len(vgf))
    table = vgf[header.GetModelResourceTableOffset() :][: header.GetModelResourceTableSize()]
    resources = vgfpy.CreateModelResourceTableDecoder(table, len(table))
    tensors = bytes([min(resources.size(), 15)])
    for i in range(tensors[0]):
        place = ("Input", "Output", "Constant").index(resources.getCategory(i).name.title())
        shape = [max(int(size), 1) for size in resources.getTensorShape(i) or (1,)]  # -1: unknown
        number = int(resources.getVkFormat(i))
        tensors += bytes([place, formats.index(signed.get(number, number)), len(shape)])
        tensors += np.array(shape, "<u2").tobytes()
    return tensors + np.array(spirv(vgf), np.uint32).tobytes()


@functools.cache
def compiled(source: str) -> tuple[int, ...]:
    """The code of a compute shader in GLSL."""
    glslang = Path(sys.executable).with_name("glslangValidator")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.comp").write_text("#version 450\n" + source)
        command = [glslang, "--quiet", "--target-env", "vulkan1.1", "-o", "a.spv", "a.comp"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout
        return tuple(np.fromfile(Path(folder) / "a.spv", np.uint32).tolist())


def shader(name: str) -> list[int]:
    """The code of a compute shader in ``shaders``."""
    return np.fromfile(SHADERS / f"{name}.spv", np.uint32).tolist()


@dataclass
class Resource:
    role: str  # "Input", "Output", "Intermediate" or "Constant"
    shape: tuple[int, ...] = (4,)
    descriptor: int = TENSOR
    format: int = R32_SINT
    strides: tuple[int, ...] = ()
    alias: int | None = None
    data: bytes | None = None  # of a constant
    sparse: int = -1
    sampler: tuple[int, int, int, int, int] | None = None  # filters, address modes along x and y, border color


@dataclass
class Segment:
    code: list[int] | str  # a string: GLSL
    sets: dict[int, list[tuple[int, int]]]  # descriptor set: (binding, resource)
    graph: bool = True
    entry_point: str = "main"
    name: str = "segment"
    constants: list[tuple[int, int]] = field(default_factory=list)  # graph constant id, resource
    dispatch: tuple[int, int, int] = (0, 0, 0)
    push_constants: tuple[tuple[int, int, int], ...] = ()  # stages, offset, bytes


def double(source: int, target: int, name: str = "double", size: int = 4) -> Segment:
    """A graph segment that makes x + x of int32 [size], from one resource to another."""
    return Segment(double_code(size), {0: [(0, source), (1, target)]}, entry_point="graph_partition_0", name=name)


def write(
    resources: list[Resource],
    segments: list[Segment],
    inputs: list[int],
    outputs: list[int],
    names: tuple[list[str], list[str]] = ([], []),
) -> bytes:
    """The file. Indices are not checked here: some tests want them wrong."""
    import vgfpy

    encoder = vgfpy.CreateEncoder(300)
    refs, constants = [], {}
    for number, r in enumerate(resources):
        if r.role == "Constant":
            refs.append(encoder.AddConstantResource(r.format, r.shape, r.strides))
            constants[number] = encoder.AddConstant(refs[-1], r.data, r.sparse)
        else:
            add = getattr(encoder, f"Add{r.role}Resource")
            refs.append(add(r.descriptor, r.format, r.shape, r.strides, r.alias))
            if r.sampler:
                encoder.AddSamplerConfig(refs[-1], *r.sampler)
    for s in segments:
        kind = vgfpy.ModuleType.Graph if s.graph else vgfpy.ModuleType.Compute
        if isinstance(s.code, str):
            module = encoder.AddModule(kind, s.name, s.entry_point, vgfpy.ShaderType.Glsl, s.code)
        else:
            module = encoder.AddModule(kind, s.name, s.entry_point, s.code)
        sets = [
            encoder.AddDescriptorSetInfo([encoder.AddBindingSlot(b, refs[r]) for b, r in slots], number)
            for number, slots in s.sets.items()
        ]
        push = [encoder.AddPushConstRange(*r) for r in s.push_constants]
        bound = [vgfpy.GraphConstantBindingRef(i, constants[r]) for i, r in s.constants]
        encoder.AddSegmentInfo(module, s.name, sets, [], [], bound, s.dispatch, push)
    ports = [[encoder.AddBindingSlot(i, refs[r]) for i, r in enumerate(ends)] for ends in (inputs, outputs)]
    encoder.AddModelSequenceInputsOutputs(ports[0], names[0], ports[1], names[1])
    encoder.Finish()
    out = io.BytesIO()
    assert encoder.WriteTo(out)
    return out.getvalue()
