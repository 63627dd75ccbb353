"""Programs with compute shaders; those that take tensors run on Arm's emulation layer, those of buffers everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from vgf_files import (
    R8_UINT,
    R16_UINT,
    STORAGE_BUFFER,
    UNIFORM_BUFFER,
    Load,
    Resource,
    Segment,
    compiled,
    double,
    shader,
    write,
)

X = np.array([1, -2, 3, 2**30], np.int32)
both_engines = pytest.mark.parametrize("engine", ["compute", "layer"])


@pytest.fixture
def load(vgf: Any, layer: Load, engine: str) -> Load:
    return layer if engine == "layer" else lambda data: vgf.Session(data, engine=engine)


def test_graphs_in_order_share_memory(layer: Load) -> None:
    """Four doublings: of the three tensors between them only two are alive at once, so one place serves two."""
    size = 4096
    resources = [Resource(role, (size,)) for role in ("Input", "Output", *["Intermediate"] * 3)]
    segments = [double(source, target, size=size) for source, target in ((0, 2), (2, 3), (3, 4), (4, 1))]
    with layer(write(resources, segments, [0], [1])) as session:
        for x in (np.arange(size, dtype=np.int32), np.full(size, -5, np.int32)):
            assert np.array_equal(session.run([x])[0], x * 16)
        memory = session.memory()
    assert memory["saved"] == size * 4
    assert memory["work"] < 3 * size * 4


def test_shaders_between_graphs(layer: Load) -> None:
    """Double, 100 minus that (a shader of tensors, with a constant), add 10 (one of buffers, aliased), double."""
    resources = [
        Resource("Input"),
        Resource("Intermediate"),
        Resource("Intermediate", alias=7),
        Resource("Intermediate", descriptor=STORAGE_BUFFER, alias=7),  # the same memory as a buffer
        Resource("Intermediate", descriptor=STORAGE_BUFFER, alias=8),
        Resource("Intermediate", alias=8),
        Resource("Output"),
        Resource("Constant", data=np.full(4, 100, np.int32).tobytes()),
    ]
    subtract = {0: [(0, 1), (1, 2)], 1: [(3, 7)]}
    segments = [
        double(0, 1),
        Segment(shader("subtract_tensor"), subtract, graph=False, dispatch=(4, 1, 1)),
        Segment(shader("add_buffer"), {0: [(0, 3), (1, 4)]}, graph=False, dispatch=(4, 1, 1)),
        double(5, 6),
    ]
    with layer(write(resources, segments, [0], [6])) as session:
        for x in (X, -X):
            assert np.array_equal(session.run([x])[0], (100 - 2 * x + 10) * 2)


@both_engines
@pytest.mark.parametrize(("kind", "format_"), [(np.uint8, R8_UINT), (np.uint16, R16_UINT)])
def test_unsigned_types(vgf: Any, load: Load, kind: type, format_: int) -> None:
    """The graph compiler makes none, shaders may: here one that adds 10 to the int32 that the elements lie on."""
    size = 16 // np.dtype(kind).itemsize
    resources = [Resource(role, (size,), STORAGE_BUFFER, format_) for role in ("Input", "Output")]
    add = Segment(shader("add_buffer"), {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(4, 1, 1))
    with load(write(resources, [add], [0], [1])) as session:
        assert [t.dtype for t in session.inputs + session.outputs] == [np.dtype(kind).name] * 2
        (out,) = session.run([X.view(kind)])
        with pytest.raises(vgf.VgfError, match=f"input 0 .'input0'. is {np.dtype(kind).name}, got int8"):
            session.run([np.zeros(size, np.int8)])
    assert out.dtype == kind
    assert np.array_equal(out.view(np.int32), X + 10)


@both_engines
def test_uniform_buffer(load: Load) -> None:
    """A shader's factor is a uniform buffer, which is an input of the program."""
    resources = [Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")]
    resources.append(Resource("Input", (1,), UNIFORM_BUFFER))
    scale = Segment(shader("scale_uniform"), {0: [(0, 0), (1, 1), (2, 2)]}, graph=False, dispatch=(4, 1, 1))
    with load(write(resources, [scale], [0, 2], [1])) as session:
        for factor in (7, -3):
            assert np.array_equal(session.run([X, np.array([factor], np.int32)])[0], X * np.int32(factor))


def test_shaders_of_buffers_between_graphs(vgf: Any) -> None:
    """Double, add 10 to the same memory as a buffer, double."""
    resources = [
        Resource("Input"),
        Resource("Intermediate", alias=7),
        Resource("Intermediate", descriptor=STORAGE_BUFFER, alias=7),
        Resource("Intermediate", descriptor=STORAGE_BUFFER, alias=8),
        Resource("Intermediate", alias=8),
        Resource("Output"),
    ]
    add = Segment(shader("add_buffer"), {0: [(0, 2), (1, 3)]}, graph=False, dispatch=(4, 1, 1))
    segments = [double(0, 1), add, double(4, 5)]
    with vgf.Session(write(resources, segments, [0], [5]), engine="compute") as session:
        for x in (X, -X):
            assert np.array_equal(session.run([x])[0], (2 * x + 10) * 2)
        assert [step["kernel"] for step in session.plan()] == ["elementwise", "shader", "elementwise"]


def test_the_compute_engine_refuses_shaders_of_tensors(vgf: Any) -> None:
    resources = [Resource("Input"), Resource("Output"), Resource("Constant", data=np.full(4, 100, np.int32).tobytes())]
    subtract = Segment(
        shader("subtract_tensor"), {0: [(0, 0), (1, 1)], 1: [(3, 2)]}, graph=False, dispatch=(4, 1, 1), name="take"
    )
    with pytest.raises(
        vgf.VgfError, match=r"segment 0 \('take'\): its compute shader takes a tensor, which needs VK_ARM"
    ):
        vgf.Session(write(resources, [subtract], [0], [1]), engine="compute")


def test_pointers_into_the_memory_of_the_device(vgf: Any) -> None:
    """A file may not read what it was not given, whatever the device can do."""
    code = """
        #extension GL_EXT_buffer_reference : require
        layout(local_size_x = 1) in;
        layout(buffer_reference, std430) buffer Anywhere { int v[]; };
        layout(set = 0, binding = 0) readonly buffer X { Anywhere x; };
        layout(set = 0, binding = 1) buffer Y { int y[]; };
        void main() { y[gl_GlobalInvocationID.x] = x.v[gl_GlobalInvocationID.x]; }
    """
    resources = [Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")]
    read = Segment([*compiled(code)], {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(4, 1, 1))
    with pytest.raises(vgf.VgfError, match="needs capability 5347 of SPIR-V, which shaders of a VGF do not get"):
        vgf.Session(write(resources, [read], [0], [1]), engine="compute")
