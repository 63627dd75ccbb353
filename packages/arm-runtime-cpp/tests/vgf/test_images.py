"""Compute shaders with images, alone and between graphs; a device may lack a format, and then says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from vgf_files import (
    COMBINED,
    SAMPLED,
    STORAGE,
    STORAGE_BUFFER,
    Load,
    Resource,
    Segment,
    compiled,
    double_code,
    write,
)

#: VkFormat, channels, type on the host, what a shader calls its images (i and u: of integers).
FORMATS = {
    "R8_UNORM": (9, 1, np.uint8, ""),
    "R8_SNORM": (10, 1, np.int8, ""),
    "R8_UINT": (13, 1, np.uint8, "u"),
    "R8_SINT": (14, 1, np.int8, "i"),
    "R8G8_UNORM": (16, 2, np.uint8, ""),
    "R8G8_SNORM": (17, 2, np.int8, ""),
    "R8G8_UINT": (20, 2, np.uint8, "u"),
    "R8G8_SINT": (21, 2, np.int8, "i"),
    "R8G8B8A8_UNORM": (37, 4, np.uint8, ""),
    "R8G8B8A8_SNORM": (38, 4, np.int8, ""),
    "R8G8B8A8_UINT": (41, 4, np.uint8, "u"),
    "R8G8B8A8_SINT": (42, 4, np.int8, "i"),
    "R16_UNORM": (70, 1, np.uint16, ""),
    "R16_SNORM": (71, 1, np.int16, ""),
    "R16_UINT": (74, 1, np.uint16, "u"),
    "R16_SINT": (75, 1, np.int16, "i"),
    "R16_SFLOAT": (76, 1, np.float16, ""),
    "R16G16_UNORM": (77, 2, np.uint16, ""),
    "R16G16_SNORM": (78, 2, np.int16, ""),
    "R16G16_UINT": (81, 2, np.uint16, "u"),
    "R16G16_SINT": (82, 2, np.int16, "i"),
    "R16G16_SFLOAT": (83, 2, np.float16, ""),
    "R16G16B16A16_UNORM": (91, 4, np.uint16, ""),
    "R16G16B16A16_SNORM": (92, 4, np.int16, ""),
    "R16G16B16A16_UINT": (95, 4, np.uint16, "u"),
    "R16G16B16A16_SINT": (96, 4, np.int16, "i"),
    "R16G16B16A16_SFLOAT": (97, 4, np.float16, ""),
    "R32_UINT": (98, 1, np.uint32, "u"),
    "R32_SINT": (99, 1, np.int32, "i"),
    "R32_SFLOAT": (100, 1, np.float32, ""),
    "R32G32_UINT": (101, 2, np.uint32, "u"),
    "R32G32_SINT": (102, 2, np.int32, "i"),
    "R32G32_SFLOAT": (103, 2, np.float32, ""),
    "R32G32B32A32_UINT": (107, 4, np.uint32, "u"),
    "R32G32B32A32_SINT": (108, 4, np.int32, "i"),
    "R32G32B32A32_SFLOAT": (109, 4, np.float32, ""),
}
RGBA32_SINT = 108
HEIGHT, WIDTH = 5, 7  # rows of 7 texels: a gap at their ends would show
HEAD = "#extension GL_EXT_samplerless_texture_functions : require\n"
#: How a shader declares its source, by descriptor, and reads a texel of it.
SOURCES = {
    STORAGE: ("readonly uniform {kind}image2D source", "imageLoad(source, at)"),
    SAMPLED: ("uniform {kind}texture2D source", "texelFetch(source, at, 0)"),
    COMBINED: ("uniform {kind}sampler2D source", "texelFetch(source, at, 0)"),
}


def glsl_name(name: str) -> str:
    """GLSL's name of a format: r8_snorm, rgba16f, ..."""
    channels, _, kind = name.partition("_")
    suffix = {"UNORM": "", "SNORM": "_snorm", "UINT": "ui", "SINT": "i", "SFLOAT": "f"}[kind]
    return "".join(c for c in channels if c.isalpha()).lower() + channels.lstrip("R").partition("G")[0] + suffix


def copy_code(descriptor: int, name: str = "R32G32B32A32_SINT", value: str = "{}") -> list[int]:
    """A shader that writes what it reads at a place, or something made of it; images of a format."""
    declared, read = SOURCES[descriptor]
    kind = FORMATS[name][3]
    format_ = f", {glsl_name(name)}" if descriptor == STORAGE else ""
    return [
        *compiled(
            f"{HEAD} layout(set = 0, binding = 0{format_}) {declared.format(kind=kind)};"
            f"layout(set = 0, binding = 1) writeonly uniform {kind}image2D target;"
            "void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy);"
            f"imageStore(target, at, {value.format(read)}); }}"
        )
    ]


def shader(code: list[int], *resources: int, groups: tuple[int, int, int] = (WIDTH, HEIGHT, 1)) -> Segment:
    return Segment(code, {0: list(enumerate(resources))}, graph=False, dispatch=groups, name="shader")


def random(kind: type, *shape: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(7)
    if np.dtype(kind).kind == "f":
        return generator.normal(size=shape).astype(kind)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, shape, kind, endpoint=True)


@pytest.mark.parametrize("descriptor", SOURCES, ids=["storage", "sampled", "combined"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_in_every_descriptor(vgf: Any, name: str, descriptor: int) -> None:
    """A shader copies an image; the lowest SNORM is the same number as the one above it."""
    number, channels, kind, _ = FORMATS[name]
    shape = (1, HEIGHT, WIDTH, channels)
    resources = [Resource("Input", shape, descriptor, number), Resource("Output", shape, STORAGE, number)]
    data = write(resources, [shader(copy_code(descriptor, name), 0, 1)], [0], [1])
    x = random(kind, *shape)
    x.flat[:3] = np.iinfo(kind).min if np.dtype(kind).kind != "f" else -0.0
    try:
        session = vgf.Session(data, engine="compute")
    except vgf.VgfError as error:
        assert f"images of {name}" in str(error), error
        return
    with session:
        assert [(t.dtype, t.shape) for t in session.inputs + session.outputs] == [(np.dtype(kind).name, shape)] * 2
        (y,) = session.run([x])
    assert np.array_equal(y, np.maximum(x, -np.iinfo(kind).max) if "SNORM" in name else x)


@pytest.mark.parametrize("shape", [(HEIGHT, WIDTH, 4), (1, HEIGHT, WIDTH, 4)])
def test_images_on_both_engines(load: Load, shape: tuple[int, ...]) -> None:
    """Through an intermediate image, with other numbers each time."""
    resources = [
        Resource("Input", shape, SAMPLED, RGBA32_SINT),
        Resource("Intermediate", shape, STORAGE, RGBA32_SINT),
        Resource("Output", shape, STORAGE, RGBA32_SINT),
    ]
    first, second = copy_code(SAMPLED, value="{} * 3"), copy_code(STORAGE, value="{} + ivec4(1, 2, 3, 4)")
    with load(write(resources, [shader(first, 0, 1), shader(second, 1, 2)], [0], [2])) as session:
        for x in (random(np.int32, *shape) // 4, np.zeros(shape, np.int32)):
            assert np.array_equal(session.run([x])[0], x * 3 + np.array([1, 2, 3, 4]))


def graph(source: int, target: int) -> Segment:
    """x + x of int32 [1, H, W, 4]."""
    code = double_code(1, HEIGHT, WIDTH, 4)
    return Segment(code, {0: [(0, source), (1, target)]}, entry_point="graph_partition_0")


SHAPE = (1, HEIGHT, WIDTH, 4)


def image(role: str, alias: int | None, descriptor: int = STORAGE) -> Resource:
    return Resource(role, SHAPE, descriptor, RGBA32_SINT, alias=alias)


def tensor(role: str, alias: int | None) -> Resource:
    return Resource(role, SHAPE, alias=alias)


#: Resources, the segments as (shader or graph, from, to), and input and output.
MIXED: dict[str, tuple[list[Resource], list[tuple[str, int, int]], int, int]] = {
    "image, graph, image": (
        [
            image("Input", None, SAMPLED),
            image("Intermediate", 1),
            tensor("Intermediate", 1),
            tensor("Intermediate", 2),
            image("Intermediate", 2),
            image("Output", None),
        ],
        [("shader", 0, 1), ("graph", 2, 3), ("shader", 4, 5)],
        0,
        5,
    ),
    "a tensor that is an image later": (
        [tensor("Input", 1), image("Intermediate", 1, SAMPLED), image("Intermediate", 2), tensor("Output", 2)],
        [("shader", 1, 2)],
        0,
        3,
    ),
    "an image that is a tensor later": (
        [image("Input", 1), tensor("Intermediate", 1), tensor("Intermediate", 2), image("Output", 2)],
        [("graph", 1, 2)],
        0,
        3,
    ),
    "two images of one memory": (
        [
            image("Input", None, SAMPLED),
            image("Intermediate", 1),
            image("Intermediate", 1, COMBINED),
            image("Output", None),
        ],
        [("shader", 0, 1), ("shader", 2, 3)],
        0,
        3,
    ),
    "there and back": (
        [
            image("Input", 1),
            tensor("Intermediate", 1),
            tensor("Intermediate", 2),
            image("Intermediate", 2),
            image("Output", 3),
        ],
        [("shader", 0, 3), ("graph", 2, 1), ("shader", 0, 4)],
        0,
        4,
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_images_that_share_memory_with_tensors(load: Load, name: str) -> None:
    """Shaders add 1, graphs double; whoever writes to the shared memory is seen by who reads it as something else."""
    resources, steps, source, target = MIXED[name]
    segments = []
    for kind, first, second in steps:
        code = copy_code(resources[first].descriptor, value="{} + 1") if kind == "shader" else []
        segments.append(shader(code, first, second) if kind == "shader" else graph(first, second))
    with load(write(resources, segments, [source], [target])) as session:
        for x in (random(np.int32, *SHAPE) // 16, np.zeros(SHAPE, np.int32)):
            expected = x
            for kind, _, _ in steps:
                expected = expected + 1 if kind == "shader" else expected * 2
            assert np.array_equal(session.run([x])[0], expected)


def test_a_shader_writes_a_buffer_from_an_image_and_a_graph_reads_it(load: Load) -> None:
    resources = [
        image("Input", None, SAMPLED),
        Resource("Intermediate", SHAPE, STORAGE_BUFFER, alias=1),
        tensor("Intermediate", 1),
        tensor("Output", None),
    ]
    code = compiled(
        f"{HEAD} layout(set = 0, binding = 0) uniform itexture2D source;"
        "layout(set = 0, binding = 1) writeonly buffer Out { ivec4 y[]; };"
        "void main() { ivec2 at = ivec2(gl_GlobalInvocationID.xy);"
        f"y[at.y * {WIDTH} + at.x] = texelFetch(source, at, 0); }}"
    )
    x = random(np.int32, *SHAPE) // 4
    with load(write(resources, [shader([*code], 0, 1), graph(2, 3)], [0], [3])) as session:
        assert np.array_equal(session.run([x])[0], x * 2)


@pytest.mark.parametrize("name", ["R8_UNORM", "R8_SNORM", "R16_UNORM", "R16_SNORM"])
def test_rounding(load: Load, name: str) -> None:
    """Numbers go to the nearest of a normalized format, and beyond its range to the last."""
    number, _, kind, _ = FORMATS[name]
    largest = np.iinfo(kind).max
    least = 0 if "UNORM" in name else -largest
    k = np.linspace(least, largest, 64).astype(np.int64)
    x = np.concatenate([k + 0.4, k - 0.4, k, [3 * largest, -3 * largest, largest + 1, least - 1]]).astype(np.float32)
    shape = (1, len(x), 1)
    store, fetch = (
        "layout(set = 0, binding = 0) readonly buffer In { float x[]; };"
        "layout(set = 0, binding = 1) writeonly uniform image2D y; void main() {"
        f"int i = int(gl_GlobalInvocationID.x); imageStore(y, ivec2(i, 0), vec4(x[i] / {largest}.0)); }}",
        f"layout(set = 0, binding = 0, {glsl_name(name)}) readonly uniform image2D x;"
        "layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };"
        "void main() { int i = int(gl_GlobalInvocationID.x); y[i] = imageLoad(x, ivec2(i, 0)).r; }",
    )
    resources = [
        Resource("Input", (len(x),), STORAGE_BUFFER, 100),
        Resource("Output", shape, STORAGE, number),
        Resource("Output", (len(x),), STORAGE_BUFFER, 100),
    ]
    groups = (len(x), 1, 1)
    segments = [shader([*compiled(store)], 0, 1, groups=groups), shader([*compiled(fetch)], 1, 2, groups=groups)]
    with load(write(resources, segments, [0], [1, 2])) as session:
        stored, fetched = session.run([x])
    assert np.array_equal(stored.ravel(), np.clip(np.rint(x.astype(np.float64)), least, largest))
    np.testing.assert_allclose(fetched, stored.ravel() / largest, rtol=1e-6)


def test_what_a_shader_does_not_write_stays(load: Load) -> None:
    """The first segment fills an image, the second writes a row of it."""
    resources = [image("Input", None, SAMPLED), image("Output", None)]
    segments = [
        shader(copy_code(SAMPLED), 0, 1),
        shader(copy_code(SAMPLED, value="{} * 0 + 9"), 0, 1, groups=(WIDTH, 1, 1)),
    ]
    x = random(np.int32, *SHAPE)
    with load(write(resources, segments, [0], [1])) as session:
        (y,) = session.run([x])
    assert np.array_equal(y[:, 1:], x[:, 1:]) and (y[:, 0] == 9).all()


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (
            Resource("Input", (4, 8, 4), COMBINED, RGBA32_SINT, sampler=(1, 1, 0, 0, 0)),
            "no sampled images of R32G32B32A32_SINT with a linear filter",
        ),
        (Resource("Input", (4, 2**20, 4), COMBINED, RGBA32_SINT), "and size 1048576 x 4, only up to"),
    ],
)
def test_what_the_device_lacks(vgf: Any, load: Load, resource: Resource, message: str) -> None:
    resources = [resource, image("Output", None)]
    with pytest.raises(vgf.VgfError, match=f"resource 0: .* has {message}|resource 0: .*{message}"):
        load(write(resources, [shader(copy_code(COMBINED), 0, 1)], [0], [1]))
