"""Push constants of compute shaders: a VGF has none, so whoever runs it gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from vgf_files import STORAGE_BUFFER, Load, Resource, Segment, compiled, double, write

COMPUTE, ALL = 32, 0x7FFFFFFF  # VkShaderStageFlagBits
X = np.array([1, -2, 3, 2**29], np.int32)
BUFFERS = """
layout(set = 0, binding = 0) readonly buffer In { int x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { int y[]; };
"""
#: Members of the block, what the shader makes of them, ranges in the file, what they are to the user, values, result.
ROWS = {
    "one": ("int a;", "x[i] * a", ((COMPUTE, 0, 4),), (0, 4), np.array([7], np.int32), X * 7),
    "a range beyond": ("int a;", "x[i] + a", ((COMPUTE, 0, 64),), (0, 64), np.arange(16, dtype=np.int32) + 3, X + 3),
    "not at the beginning": (
        "layout(offset = 8) int a; int b;",
        "x[i] * a + b",
        ((COMPUTE, 8, 8),),
        (8, 8),
        np.array([2, -9], np.int32),
        X * 2 - 9,
    ),
    "two ranges": (
        "layout(offset = 4) int a; layout(offset = 12) int b;",
        "x[i] + a - b",
        ((1, 32, 4), (COMPUTE, 12, 4), (ALL, 4, 4)),
        (4, 12),
        np.array([5, 0, 9], np.int32),
        X - 4,
    ),
    "a matrix in a structure in an array": (
        "layout(row_major) struct_t s[2];",
        "x[i] + int(s[1].m[1][2])",
        ((COMPUTE, 0, 48),),
        (0, 48),
        np.arange(12, dtype=np.float32),
        X + 11,
    ),
    "floats": ("vec2 f[3];", "x[i] + int(f[2].y)", ((COMPUTE, 0, 24),), (0, 24), np.arange(6, dtype=np.float32), X + 5),
}


def pushing(members: str, value: str, ranges: tuple[tuple[int, int, int], ...], name: str = "shader") -> Segment:
    code = compiled(
        f"struct struct_t {{ mat2x3 m; }}; {BUFFERS} layout(push_constant, std430) uniform Push {{ {members} }};"
        f"void main() {{ uint i = gl_GlobalInvocationID.x; y[i] = {value}; }}"
    )
    bindings = {0: [(0, 0), (1, 1)]}
    return Segment([*code], bindings, graph=False, dispatch=(4, 1, 1), push_constants=ranges, name=name)


def program(*segments: Segment) -> bytes:
    return write([Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")], [*segments], [0], [1])


@pytest.mark.parametrize("name", ROWS)
def test_values(load: Load, name: str) -> None:
    members, value, ranges, (offset, count), given, expected = ROWS[name]
    with load(program(pushing(members, value, ranges))) as session:
        (info,) = session.push_constants
        assert (info.segment, info.offset, info.bytes) == ("shader", offset, count)
        assert np.array_equal(session.run([X], [given])[0], expected)


def test_they_hold_until_they_are_given_again(load: Load) -> None:
    with load(program(pushing("int a;", "x[i] * a", ((COMPUTE, 0, 4),)))) as session:
        session.profile()
        for values, factor in (([b"\2\0\0\0"], 2), (None, 2), ([np.int32(-3)], -3), (None, -3)):
            assert np.array_equal(session.run([X], values)[0], X * factor)
            assert any(event.on_device for event in session.profile())


def test_of_several_segments(load: Load) -> None:
    """A shader with, one without and a graph between two tensors' worth of memory."""
    resources = [
        Resource("Input", descriptor=STORAGE_BUFFER),
        Resource("Intermediate", descriptor=STORAGE_BUFFER, alias=1),
        Resource("Intermediate", alias=1),
        Resource("Intermediate", alias=2),
        Resource("Intermediate", descriptor=STORAGE_BUFFER, alias=2),
        Resource("Output", descriptor=STORAGE_BUFFER),
    ]
    add = pushing("int a;", "x[i] + a", ((COMPUTE, 0, 4),), "add")
    multiply = pushing("int a;", "x[i] * a", ((COMPUTE, 0, 4),), "multiply")
    add.sets, multiply.sets = {0: [(0, 0), (1, 1)]}, {0: [(0, 4), (1, 5)]}
    with load(write(resources, [add, double(2, 3), multiply], [0], [5])) as session:
        assert [p.segment for p in session.push_constants] == ["add", "multiply"]
        assert np.array_equal(session.run([X], [np.int32(5), np.int32(3)])[0], (X + 5) * 2 * 3)


def test_what_the_code_does_not_read_is_not_asked_for(load: Load) -> None:
    code = compiled(f"{BUFFERS} void main() {{ uint i = gl_GlobalInvocationID.x; y[i] = x[i]; }}")
    copy = Segment([*code], {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(4, 1, 1), push_constants=((COMPUTE, 0, 4),))
    with load(program(copy)) as session:
        assert session.push_constants == []
        assert np.array_equal(session.run([X])[0], X)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "segment 'shader' takes 4 bytes of push constants: give them before the first run"),
        ([], "the program has 1 push constants, got 0"),
        ([b"12345678"], "the push constants of segment 'shader' take 4 bytes, got 8"),
        ([np.zeros(1, np.int64)], "the push constants of segment 'shader' take 4 bytes, got 8"),
    ],
)
def test_values_that_do_not_fit(vgf: Any, load: Load, values: Any, message: str) -> None:
    with load(program(pushing("int a;", "x[i] * a", ((COMPUTE, 0, 4),)))) as session:
        with pytest.raises(vgf.VgfError, match=message):
            session.run([X], values)
        assert np.array_equal(session.run([X], [np.int32(2)])[0], X * 2)


def test_more_than_the_device_has(vgf: Any, load: Load) -> None:
    with pytest.raises(vgf.VgfError, match=r"segment 0 \('shader'\): its push constants end at byte 65536; .* has \d+"):
        load(program(pushing("int a;", "x[i] * a", ((COMPUTE, 0, 65536),))))
