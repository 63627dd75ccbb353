"""Files with one thing wrong: each is refused with the place and the reason, before Vulkan sees any of it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from vgf_files import (
    SAMPLED,
    STORAGE,
    STORAGE_BUFFER,
    UNIFORM_BUFFER,
    Resource,
    Segment,
    compiled,
    double_code,
    graph_vgf,
    shader,
    write,
)

from arm_tosa_core.tosa.ir import DType

CONSTANT = Resource("Constant", data=bytes(16))
COMPUTE = 32  # VkShaderStageFlagBits
PORTS = ([0], [1])


def graph(code: list[int] | str | None = None, **changes: Any) -> Segment:
    segment = Segment(double_code(4) if code is None else code, {0: [(0, 0), (1, 1)]}, entry_point="graph_partition_0")
    return replace(segment, **changes)


def compute(**changes: Any) -> Segment:
    bindings = {0: [(0, 0), (1, 1)], 1: [(3, 2)]}
    segment = Segment(shader("subtract_tensor"), bindings, graph=False, dispatch=(4, 1, 1))
    return replace(segment, **changes)


def one(segment: Segment, *resources: Resource) -> bytes:
    return write([Resource("Input"), Resource("Output"), *resources], [segment], *PORTS)


def resource(**changes: Any) -> bytes:
    return write([replace(Resource("Input"), **changes), Resource("Output")], [graph()], *PORTS)


def constant(**changes: Any) -> bytes:
    return one(graph(), replace(CONSTANT, **changes))


def pushing(members: str) -> list[int]:
    """A shader of buffers with these push constants."""
    return [
        *compiled(
            "layout(set = 0, binding = 0) readonly buffer In { int x[]; };"
            "layout(set = 0, binding = 1) writeonly buffer Out { int y[]; };"
            f"layout(push_constant) uniform Push {{ {members} }};"
            f"void main() {{ y[0] = x[0] + {'a[1]' if '[' in members else 'a'}; }}"
        )
    ]


def without_offsets(code: list[int]) -> list[int]:
    """The same without OpMemberDecorate ... Offset."""
    words, at = code[:5], 5
    while at < len(code):
        length = code[at] >> 16
        if not (code[at] & 0xFFFF == 72 and code[at + 3] == 35):
            words += code[at : at + length]
        at += length
    return words


def buffers(segment: Segment) -> bytes:
    """A program of one shader of buffers."""
    resources = [Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")]
    return write(resources, [replace(segment, sets={0: [(0, 0), (1, 1)]})], *PORTS)


def image_segment(declared: str, read: str) -> Segment:
    """A shader that reads an image and writes a buffer."""
    layout = ", r32i" if " iimage" in declared else ""
    code = compiled(
        "#extension GL_EXT_samplerless_texture_functions : require\n"
        f"layout(set = 0, binding = 0{layout}) {declared};"
        "layout(set = 0, binding = 1) writeonly buffer Out { int y[]; };"
        f"void main() {{ y[0] = {read}.x; }}"
    )
    return compute(code=[*code], sets={0: [(0, 0), (1, 1)]})


def image(
    *others: Resource, code: str = "uniform iimage2D x", read: str = "imageLoad(x, ivec2(0))", **changes: Any
) -> bytes:
    """A program of that shader, whose image is of R32_SINT unless it is changed."""
    source = replace(Resource("Input", (3, 4, 1), STORAGE), **changes)
    resources = [source, Resource("Output", descriptor=STORAGE_BUFFER), *others]
    return write(resources, [image_segment(code, read)], *PORTS)


ROWS: dict[str, tuple[Callable[[], bytes], str]] = {
    "unknown size": (
        lambda: resource(shape=(-1, 4)),
        r"input 0 .* has shape \[-1, 4\] .*: dimension 0 is unknown",
    ),
    "negative size": (lambda: resource(shape=(-4,)), r"resource 0: its shape \[-4\] is out of range"),
    "empty": (lambda: resource(shape=(0,)), r"resource 0: its shape \[0\] is out of range"),
    "overflow": (lambda: resource(shape=(2**31, 2**31, 2**31)), "resource 0: .* out of range"),
    "huge": (lambda: resource(shape=(2**40,)), "resource 0: .* out of range"),
    "rank": (lambda: resource(shape=(1,) * 7), "resource 0: rank 7 is more than 6"),
    "strides": (lambda: resource(strides=(8,)), r"resource 0: strides \[8\] are not those of a packed"),
    "too many strides": (lambda: resource(strides=(4, 4)), "resource 0: strides"),
    "format": (lambda: resource(format=1), "resource 0: format 1 is not supported"),
    "descriptor": (lambda: resource(descriptor=4), "resource 0: descriptor type 4 is not supported"),
    "image of rank 1": (
        lambda: image(shape=(4,)),
        r"shape \[4\] is not \[H, W, 1\] or \[1, H, W, 1\], as .* R32_SINT has",
    ),
    "image of a batch": (lambda: image(shape=(2, 3, 4, 1)), r"shape \[2, 3, 4, 1\] is not \[H, W, 1\]"),
    "image of other channels": (
        lambda: image(format=107),
        r"shape \[3, 4, 1\] is not \[H, W, 4\] or \[1, H, W, 4\], as",
    ),
    "image without end": (lambda: image(shape=(2**21, 1, 1)), r"shape \[2097152, 1, 1\] is out of range for an image"),
    "image of a tensor's format": (lambda: image(format=1000460001), "format 1000460001 is not supported for images"),
    "image of another code": (lambda: image(descriptor=SAMPLED), "its code takes no sampled image at set 0, binding 0"),
    "sampled image's code": (
        lambda: image(code="uniform itexture2D x", read="texelFetch(x, ivec2(0), 0)"),
        "its code takes no storage image at set 0, binding 0",
    ),
    "image of other numbers": (
        lambda: image(format=98),
        "set 0, binding 0: its code takes an image of signed integers, and R32_UINT has unsigned integers",
    ),
    "image of another format": (
        lambda: image(format=14),
        r"its code takes an image of another format than R8_SINT \(SPIR-V's number 24\)",
    ),
    "image of several layers": (
        lambda: image(code="uniform iimage2DArray x", read="imageLoad(x, ivec3(0))"),
        "set 0, binding 0: its code takes an image that is not two-dimensional, of one layer and one sample",
    ),
    "image of three dimensions": (
        lambda: image(code="uniform iimage3D x", read="imageLoad(x, ivec3(0))"),
        "an image that is not two-dimensional",
    ),
    "several images": (
        lambda: image(code="uniform iimage2D x[2]", read="imageLoad(x[1], ivec2(0))"),
        "its code takes no storage image at set 0, binding 0",
    ),
    "an image and its memory in one segment": (
        lambda: write(
            [
                Resource("Intermediate", (3, 4, 1), STORAGE, alias=1),
                Resource("Output", (12,), STORAGE_BUFFER, alias=1),
            ],
            [image_segment("uniform iimage2D x", "imageLoad(x, ivec2(0))")],
            [],
            [1],
        ),
        "it takes resources 0 and 1, which share memory, one as an image, and may write to one",
    ),
    "filter": (lambda: image(sampler=(2, 0, 0, 0, 0)), "resource 0: its sampler's filter 2 is not supported"),
    "address mode": (lambda: image(sampler=(0, 0, 0, 4, 0)), "its sampler's address mode 4 is not supported"),
    "border color": (lambda: image(sampler=(0, 0, 0, 0, 6)), "its sampler's border color 6 is not supported"),
    "border of another kind": (
        lambda: image(sampler=(0, 0, 3, 0, 0)),
        "its sampler's border color 0 is not of the kind of its format R32_SINT",
    ),
    "image that shares memory of another size": (
        lambda: image(Resource("Intermediate", (13,), alias=1), alias=1),
        "resource 2: it shares memory with resource 0 and perhaps others, one of them an image, and has 52 bytes",
    ),
    "constant's size": (lambda: constant(data=bytes(12)), "constant 0: it has 12 bytes, .* takes 16"),
    "constant's sparsity": (lambda: constant(sparse=1), "constant 0: sparse along dimension 1 of 1"),
    "no segments": (lambda: write([], [], [], []), "it has no segments"),
    "input that is none": (
        lambda: write([Resource("Input"), Resource("Output")], [graph()], [1], [1]),
        "input 0: resource 1 is no input",
    ),
    "input twice": (
        lambda: write([Resource("Input"), Resource("Output")], [graph()], [0, 0], [1]),
        "input 1: resource 0 is there twice",
    ),
    "output type": (
        lambda: write([Resource("Input"), Resource("Output", format=111)], [graph()], *PORTS),
        "output 0: format 111 cannot be passed",
    ),
    "binding twice": (lambda: one(graph(sets={0: [(0, 0), (0, 1)]})), "set 0, binding 0 is there twice"),
    "descriptor set": (lambda: one(graph(sets={4: [(0, 0)]})), "descriptor set 4 of 4"),
    "buffer in a graph": (
        lambda: one(graph(sets={0: [(0, 0), (1, 2)]}), Resource("Intermediate", descriptor=UNIFORM_BUFFER)),
        "set 0, binding 1: a graph takes tensors only",
    ),
    "source code": (lambda: one(compute(code="void main() {}"), CONSTANT), "module 0 holds no SPIR-V"),
    "push constants that are not there": (
        lambda: buffers(compute(code=pushing("int a[2];"), push_constants=((COMPUTE, 0, 4),))),
        "its code reads bytes 0 to 8 of push constants, and the segment has 0 to 4",
    ),
    "push constants of another stage": (
        lambda: buffers(compute(code=pushing("int a;"), push_constants=((1, 0, 4),))),
        "its code reads bytes 0 to 4 of push constants, and the segment has none",
    ),
    "push constants in front": (
        lambda: buffers(compute(code=pushing("int a[5];"), push_constants=((COMPUTE, 16, 16),))),
        "its code reads bytes 0 to 20 of push constants, and the segment has 16 to 32",
    ),
    "push constants at odd bytes": (
        lambda: buffers(compute(code=pushing("int a;"), push_constants=((COMPUTE, 2, 4),))),
        "push constants of 4 bytes at offset 2; both must be multiples of 4",
    ),
    "push constants without end": (
        lambda: buffers(compute(code=pushing("int a;"), push_constants=((COMPUTE, 4, 2**32 - 4),))),
        "push constants of 4294967292 bytes at offset 4; .* end within 65536",
    ),
    "push constants without a layout": (
        lambda: buffers(compute(code=without_offsets(pushing("int a;")), push_constants=((COMPUTE, 0, 4),))),
        "the layout of its code's push constants cannot be told",
    ),
    "no work groups": (lambda: one(compute(dispatch=(4, 0, 1)), CONSTANT), "0 work groups along axis 1"),
    "too many work groups": (lambda: one(compute(dispatch=(4, 1, 65536)), CONSTANT), "65536 work groups along axis 2"),
    "graph constant twice": (
        lambda: one(graph(constants=[(3, 2), (3, 2)]), CONSTANT),
        "graph constant 3 is there twice",
    ),
    "entry point": (lambda: one(graph(entry_point="main")), "its code has no entry point 'main'"),
    "unbound": (lambda: one(graph(sets={0: [(0, 0)]})), "uses set 0, binding 1, which the segment does not bind"),
    "a constant as a uniform buffer": (
        lambda: write(
            [*(Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")), CONSTANT],
            [compute(code=shader("scale_uniform"), sets={0: [(0, 0), (1, 1), (2, 2)]})],
            *PORTS,
        ),
        "its code takes no tensor at set 0, binding 2, which is what resource 2 is there",
    ),
    "a tensor as a storage buffer": (
        lambda: one(compute(code=shader("add_buffer"), sets={0: [(0, 0), (1, 1)]})),
        "its code takes no tensor at set 0, binding 0, which is what resource 0 is there",
    ),
    "a storage buffer as a tensor": (
        lambda: one(compute(), replace(CONSTANT, role="Intermediate", descriptor=STORAGE_BUFFER)),
        "its code takes no storage buffer at set 1, binding 3, which is what resource 2 is there",
    ),
    "constant that is missing": (
        lambda: one(graph(_code_with_constant())),
        "uses graph constant 5, which the segment does not have",
    ),
    "not SPIR-V": (lambda: one(graph([1, 2, 3, 4, 5])), "its code is not SPIR-V"),
    "SPIR-V of no length": (
        lambda: one(graph([*double_code(4)[:5], 0])),
        "at word 5 has length 0, and 1 words are left",
    ),
    "cut SPIR-V": (lambda: one(graph(double_code(4)[:-2])), "has length 3, and 2 words are left"),
}


def _code_with_constant() -> list[int]:
    """With OpGraphConstantARM %type %id 5."""
    return [*double_code(4), 4 << 16 | 4181, 1, 9999, 5]


@pytest.mark.parametrize("name", ROWS)
def test_one_thing_wrong(runtime: Any, name: str) -> None:
    from arm_runtime.vgf import Session, VgfError

    make, message = ROWS[name]
    with pytest.raises(VgfError, match=message):
        Session(make())


@pytest.mark.parametrize("size", [0, 3, 127, 128, 300, -1])
def test_a_file_that_was_cut(runtime: Any, size: int) -> None:
    from arm_runtime.vgf import Session, VgfError

    with pytest.raises(VgfError, match=r"^VGF"):
        Session(graph_vgf("ABS", DType.INT32, 4)[:size])


@pytest.mark.parametrize("section", range(4))
@pytest.mark.parametrize(("offset", "size"), [(2**64 - 8, 16), (128, 2**40), (129, 4), (0, 0)])
def test_sections_that_lie_elsewhere(runtime: Any, section: int, offset: int, size: int) -> None:
    from arm_runtime.vgf import Session, VgfError

    data = bytearray(graph_vgf("ABS", DType.INT32, 4))
    struct.pack_into("<QQ", data, 16 + 16 * section, offset, size)
    with pytest.raises(VgfError, match=r"^VGF"):
        Session(bytes(data))


@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits(runtime: Any, seed: int) -> None:
    """Whatever a changed bit means, reading ends. The device that does not exist stops what is read well: drivers need
    not survive changed code. The fuzzer does the same with sanitizers."""
    from arm_runtime.vgf import Session, VgfError

    rng = np.random.default_rng(seed)
    whole = one(graph(), CONSTANT)
    for _ in range(50):
        data = bytearray(whole)
        data[int(rng.integers(8, len(whole)))] ^= 1 << int(rng.integers(0, 8))
        with pytest.raises(VgfError):
            Session(bytes(data), device="no such device")
