"""Programs with compute shaders, which Arm's emulation layer runs; and segments that share memory there."""

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
    double,
    shader,
    write,
)

X = np.array([1, -2, 3, 2**30], np.int32)


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


@pytest.mark.parametrize(("kind", "format_"), [(np.uint8, R8_UINT), (np.uint16, R16_UINT)])
def test_unsigned_types(vgf: Any, layer: Load, kind: type, format_: int) -> None:
    """The graph compiler makes none, shaders may: here one that adds 10 to the int32 that the elements lie on."""
    size = 16 // np.dtype(kind).itemsize
    resources = [Resource(role, (size,), STORAGE_BUFFER, format_) for role in ("Input", "Output")]
    add = Segment(shader("add_buffer"), {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(4, 1, 1))
    with layer(write(resources, [add], [0], [1])) as session:
        assert [t.dtype for t in session.inputs + session.outputs] == [np.dtype(kind).name] * 2
        (out,) = session.run([X.view(kind)])
        with pytest.raises(vgf.VgfError, match=f"input 0 .'input0'. is {np.dtype(kind).name}, got int8"):
            session.run([np.zeros(size, np.int8)])
    assert out.dtype == kind
    assert np.array_equal(out.view(np.int32), X + 10)


def test_uniform_buffer(layer: Load) -> None:
    """A shader's factor is a uniform buffer, which is an input of the program."""
    resources = [Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")]
    resources.append(Resource("Input", (1,), UNIFORM_BUFFER))
    scale = Segment(shader("scale_uniform"), {0: [(0, 0), (1, 1), (2, 2)]}, graph=False, dispatch=(4, 1, 1))
    with layer(write(resources, [scale], [0, 2], [1])) as session:
        for factor in (7, -3):
            assert np.array_equal(session.run([X, np.array([factor], np.int32)])[0], X * np.int32(factor))


def test_the_compute_engine_refuses_shaders(vgf: Any) -> None:
    resources = [Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")]
    add = Segment(shader("add_buffer"), {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(4, 1, 1), name="add")
    with pytest.raises(vgf.VgfError, match=r"segment 0 \('add'\): the compute engine does not run compute shaders"):
        vgf.Session(write(resources, [add], [0], [1]), engine="compute")
