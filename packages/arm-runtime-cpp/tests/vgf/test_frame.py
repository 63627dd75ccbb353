"""Programs in an application's frames, on its device, with what it enabled: the bits are those of ``Session.run``."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_compute import network
from test_sizes import sized_vgf
from test_validation import LAYERS, MANIFESTS
from vgf_files import R8_SINT, SPEC, STORAGE_BUFFER, Resource, Segment, compiled, graph_vgf, write

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

Array = np.ndarray[Any, Any]
Frame = Callable[..., str]
#: Of VkFormat.
R8, R8_SNORM, RGBA8, RGBA8_SNORM, RGBA8_SRGB, BGRA8, R16F, RGBA16F, R32F, RGBA32F = (
    9,
    10,
    37,
    38,
    43,
    44,
    76,
    97,
    100,
    109,
)
R11G11B10, D32 = 122, 126


@pytest.fixture(scope="module")
def frame(vgf: Any, cmake_build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Frame:
    """Runs ``vgf_frame`` in a folder of its own, under the validation layer where there is one; it is silent."""
    program = cmake_build("host", "vgf_frame") / "tests" / "vgf" / "vgf_frame"
    settings = tmp_path_factory.mktemp("validation")
    checks = "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"
    (settings / "vk_layer_settings.txt").write_text(
        f"khronos_validation.report_flags = error,warn,perf\nkhronos_validation.enables = {checks}\n"
    )
    env = {**os.environ, "VK_LAYER_SETTINGS_PATH": str(settings)}
    watched = {"VK_LAYER_PATH": str(MANIFESTS), "VK_INSTANCE_LAYERS": LAYERS[-1]}
    if not (MANIFESTS / "VkLayer_khronos_validation.json").is_file():
        watched = {}

    def run(folder: Path, *words: object, alone: bool = False, told: str | None = None) -> str:
        command, given = [str(program), *map(str, words)], env if alone else env | watched
        done = subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, timeout=300, check=False)
        said = done.stdout + done.stderr
        if told is not None:
            assert told in said or not watched, said[-4000:]
            return said
        assert done.returncode == 0 and "Validation" not in said and "VUID" not in said, said[-4000:]
        return done.stdout

    return run


def of_frames(session: Any, count: int) -> list[list[Array]]:
    """Inputs of each frame."""
    rng = np.random.default_rng(5)

    def draw(dtype: str, shape: tuple[int, ...]) -> Array:
        if dtype.startswith("float"):
            return rng.standard_normal(shape).astype(dtype)
        return rng.integers(-99, 99, shape).astype(dtype)

    return [[draw(t.dtype, t.shape) for t in session.inputs] for _ in range(count)]


def check(
    vgf: Any, frame: Frame, data: bytes, folder: Path, masked: str, frames: int = 3, offset: int = 20, *more: str
) -> str:
    """Frames that are submitted before one is waited for, beside runs of a session."""
    (folder / "a.vgf").write_bytes(data)
    with vgf.Session(data, engine="compute") as session:
        given = of_frames(session, frames)
        wanted = [session.run(arrays) for arrays in given]
    for i, arrays in enumerate(zip(*given, strict=True)):
        (folder / f"x{i}").write_bytes(b"".join(array.tobytes() for array in arrays))
    names = [*(f"x{i}" for i in range(len(given[0]))), *(f"y{i}" for i in range(len(wanted[0])))]
    said = frame(folder, "buffers", "a.vgf", masked, frames, offset, *names, *more)
    for i, arrays in enumerate(zip(*wanted, strict=True)):
        assert (folder / f"y{i}").read_bytes() == b"".join(array.tobytes() for array in arrays), f"output {i}"
    return said


@pytest.mark.parametrize("scheme", ["int8", "fp32"])
def test_frames_have_the_bits_of_a_session(vgf: Any, frame: Frame, tmp_path: Path, scheme: str) -> None:
    assert check(vgf, frame, network(scheme), tmp_path, "none").count("record") == 3


def test_frames_that_are_replayed_have_the_bits_of_a_session(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    assert check(vgf, frame, network("int8"), tmp_path, "none", 3, 20, "replay").count("record") == 3
    rows = [line.rsplit(" ", 1) for line in frame(tmp_path, "many", "a.vgf", 400, "replay", alone=True).splitlines()]
    used = [int(value) for name, value in rows if name == "in use"]
    assert rows[-1] == ["allocations", "0"] and used[3] - used[1] < 1 << 14


def test_every_feature_may_be_masked(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """One by one, and all of them: an application may have enabled none."""
    features = [row.split()[1] for row in frame(tmp_path, "requirements").splitlines()[:-1]]
    assert {"robustBufferAccess", "shaderIntegerDotProduct"} <= set(features)
    data = network("int8")
    for masked in (*features, "all"):
        check(vgf, frame, data, tmp_path, masked, frames=1)


@pytest.mark.parametrize("masked", ["none", "shaderInt8", "storageBuffer8BitAccess"])
def test_what_a_shader_needs_must_be_enabled(vgf: Any, frame: Frame, tmp_path: Path, masked: str) -> None:
    """The device has it, but the application made it without."""
    code = """
        #extension GL_EXT_shader_8bit_storage : require
        #extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
        layout(local_size_x = 1) in;
        layout(set = 0, binding = 0) readonly buffer X { int8_t x[]; };
        layout(set = 0, binding = 1) buffer Y { int8_t y[]; };
        void main() { uint i = gl_GlobalInvocationID.x; y[i] = x[i] * x[i]; }
    """
    resources = [Resource(role, (8,), STORAGE_BUFFER, R8_SINT) for role in ("Input", "Output")]
    square = Segment([*compiled(code)], {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(8, 1, 1))
    data = write(resources, [square], [0], [1])
    if masked == "none":
        check(vgf, frame, data, tmp_path, masked)
        return
    (tmp_path / "a.vgf").write_bytes(data)
    np.zeros(8, np.int8).tofile(tmp_path / "x")
    said = frame(tmp_path, "buffers", "a.vgf", masked, 1, 0, "x", "y", told="")
    assert f"lacks what its code needs, or was made without: {masked}" in said and "VUID" not in said


def test_memory_of_an_allocator(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """All memory of the program is its, in parts that do not begin with the block, and goes back."""
    said = check(vgf, frame, network("int8"), tmp_path, "allocator").splitlines()[-1].split()
    assert said[::2] == ["parts", "freed"] and said[1] == said[3] != "0"


# How constants get to the device, and what is submitted for that while the program is made.
LOADING = {"none": (0, 0), "staged": (1, 0), "queue": (1, 1), "recorded": (0, 0)}


@pytest.mark.parametrize(("way", "submitted"), LOADING.items())
def test_constants_get_to_the_device(
    vgf: Any, frame: Frame, tmp_path: Path, way: str, submitted: tuple[int, int]
) -> None:
    """Written where the device sees them, in a submission, to a queue of its own, or in a command buffer."""
    said = check(vgf, frame, network("int8"), tmp_path, way).splitlines()
    assert said[0] == f"submitted {submitted[0]}, to the second queue {submitted[1]}"
    if way == "recorded":
        late = "the program's constants are not uploaded: record_upload comes before the first record"
        assert said[1:3] == [late, "end_upload comes after record_upload"]


def test_debuggers_see_names(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """Where the application's instance has VK_EXT_debug_utils."""
    said = check(vgf, frame, graph_vgf("REVERSE", DType.INT32, 70, axis=0), tmp_path, "labels", frames=1)
    assert said.splitlines()[-1] == "4 named, 0 open, arm_vgf;0: REVERSE;"


@pytest.mark.parametrize("offset", [0, 4, 252, 260])
@pytest.mark.parametrize(("dtype", "size"), [(DType.INT8, 5), (DType.INT16, 7), (DType.INT32, 300)])
def test_bytes_beside_a_tensor_are_kept(
    vgf: Any, frame: Frame, tmp_path: Path, offset: int, dtype: DType, size: int
) -> None:
    data = graph_vgf("REVERSE", dtype, size, axis=0)
    check(vgf, frame, data, tmp_path, "none", frames=2, offset=offset)


def test_two_inputs_that_are_one_operand_each(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    check(vgf, frame, graph_vgf("ADD", DType.INT32, 3, 70, operands=2), tmp_path, "none")


def test_inputs_that_share_memory(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """The later one counts, as in a session: their copies wait for each other."""
    code = """
        layout(local_size_x = 1) in;
        layout(set = 0, binding = 0) readonly buffer A { int a[]; };
        layout(set = 0, binding = 1) readonly buffer B { int b[]; };
        layout(set = 0, binding = 2) buffer Y { int y[]; };
        void main() { uint i = gl_GlobalInvocationID.x; y[i] = a[i] + 2 * b[i]; }
    """
    roles = (("Input", 0), ("Input", 0), ("Output", None))
    resources = [Resource(role, (8,), STORAGE_BUFFER, alias=alias) for role, alias in roles]
    add = Segment([*compiled(code)], {0: [(0, 0), (1, 1), (2, 2)]}, graph=False, dispatch=(8, 1, 1))
    check(vgf, frame, write(resources, [add], [0, 1], [2]), tmp_path, "none")


def summed(kind: str) -> bytes:
    """``sum += x``, an output, and ``y = 2 * sum``; as a graph, and as a compute shader."""
    if kind == "graph":
        graph = Graph()
        x, state = (graph.input(name, (70,), DType.INT32) for name in ("x", "state"))
        total = graph.append("ADD", [x, state]).output
        graph.outputs = [graph.append("ADD", [total, total]).output, total]
        return convert(serialize(graph, SPEC))
    code = """
        layout(local_size_x = 1) in;
        layout(set = 0, binding = 0) readonly buffer X { int x[]; };
        layout(set = 0, binding = 1) readonly buffer Old { int old[]; };
        layout(set = 0, binding = 2) buffer Y { int y[]; };
        layout(set = 0, binding = 3) buffer New { int new[]; };
        void main() { uint i = gl_GlobalInvocationID.x; new[i] = old[i] + x[i]; y[i] = 2 * new[i]; }
    """
    resources = [Resource(role, (70,), STORAGE_BUFFER) for role in ("Input", "Input", "Output", "Output")]
    slots = [(i, i) for i in range(4)]
    add = Segment([*compiled(code)], {0: slots}, graph=False, dispatch=(70, 1, 1))
    return write(resources, [add], [0, 1], [2, 3], (["x", "state"], ["y", "total"]))


@pytest.mark.parametrize("kind", ["graph", "shader"])
@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("restart", [99, 3])
@pytest.mark.parametrize("replay", [(), ("replay",)], ids=["recorded", "replayed"])
def test_a_state_stays_on_the_device(
    vgf: Any, frame: Frame, tmp_path: Path, kind: str, initial: bool, restart: int, replay: tuple[str, ...]
) -> None:
    """An output of a frame is an input of the next one, without a copy; all frames are submitted at once."""
    data, frames = summed(kind), 6
    (tmp_path / "a.vgf").write_bytes(data)
    with vgf.Session(data, engine="compute") as session:
        state, total = session.inputs[1].name, session.outputs[1].name
    rng = np.random.default_rng(1)
    x = rng.integers(-99, 99, (frames, 70)).astype(np.int32)
    first = rng.integers(-99, 99, 70).astype(np.int32) if initial else np.zeros(70, np.int32)
    x.tofile(tmp_path / "x")
    first.tofile(tmp_path / "first")
    words = ("states", "a.vgf", total, state, frames, restart, "x", "y", "last")
    frame(tmp_path, *words, *(["first"] if initial else []), *replay)
    wanted, current = [], first
    for i, one in enumerate(x):
        current = (first if i == restart else current) + one
        wanted.append(2 * current)
    assert np.array_equal(np.fromfile(tmp_path / "y", np.int32).reshape(frames, 70), np.stack(wanted))
    assert np.array_equal(np.fromfile(tmp_path / "last", np.int32), current)


def test_what_is_no_state_is_refused(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    def said(data: bytes, output: str, state: str) -> str:
        (tmp_path / "a.vgf").write_bytes(data)
        (tmp_path / "x").write_bytes(b"")
        return frame(tmp_path, "states", "a.vgf", output, state, 1, 0, "x", "y", "last", told="").strip()

    data = summed("shader")
    assert said(data, "none", "state") == "a state: no output is called 'none'; there are 'y', 'total'"
    assert said(data, "total", "y") == "a state: no input is called 'y'; there are 'x', 'state'"
    roles = (("Input", (8,), 0), ("Input", (8,), 0), ("Output", (8,), None), ("Output", (4,), None))
    resources = [Resource(role, shape, STORAGE_BUFFER, alias=alias) for role, shape, alias in roles]
    code = "layout(set = 0, binding = 0) buffer Y { int y[]; }; void main() { y[0] = 1; }"
    slots = [Segment([*compiled(code)], {0: [(0, i)]}, graph=False, dispatch=(1, 1, 1)) for i in (2, 3)]
    data = write(resources, slots, [0, 1], [2, 3], (["a", "b"], ["y", "z"]))
    shares = "one of them shares its memory with another input or output"
    assert said(data, "y", "a") == f"the state from output 'y' to input 'a': {shares}"
    sizes = "they are int32 [4] and int32 [8]: type and sizes must be the same"
    assert said(data, "z", "a") == f"the state from output 'z' to input 'a': {sizes}"


def texels(values: Array, channels: int, image: Any) -> Array:
    """[H, W, channels of the image], the rest zeros and alpha 1."""
    out = np.zeros((*values.shape[:2], channels), image)
    out[..., :] = 7  # what a program does not read
    out[..., : values.shape[2]] = values
    return out


# A tensor's type and channels, the formats of the images that it comes from and goes to, and their numpy types.
IMAGES = [
    (DType.FP32, 3, (RGBA16F, "f2"), (RGBA32F, "f4")),
    (DType.FP32, 4, (RGBA32F, "f4"), (RGBA16F, "f2")),
    (DType.FP16, 3, (RGBA16F, "f2"), (RGBA16F, "f2")),
    (DType.FP16, 1, (R16F, "f2"), (R32F, "f4")),
    (DType.FP32, 1, (R32F, "f4"), (R32F, "f4")),
    (DType.INT8, 4, (RGBA8_SNORM, "i1"), (RGBA8_SNORM, "i1")),
    (DType.INT8, 3, (RGBA8_SNORM, "i1"), (RGBA8_SNORM, "i1")),
    (DType.FP16, 1, (R16F, "f2"), (R16F, "f2")),
    (DType.INT8, 1, (R8_SNORM, "i1"), (R8_SNORM, "i1")),
    (DType.FP32, 1, (D32, "f4"), (R16F, "f2")),
]


@pytest.mark.parametrize("order", ["last", "first"])
@pytest.mark.parametrize(("dtype", "channels", "source", "target"), IMAGES)
def test_images(
    vgf: Any,
    frame: Frame,
    tmp_path: Path,
    order: str,
    dtype: DType,
    channels: int,
    source: tuple[int, str],
    target: tuple[int, str],
) -> None:
    """A program that turns its image upside down."""
    height, width = 5, 11
    shape = (1, height, width, channels) if order == "last" else (1, channels, height, width)
    data = graph_vgf("REVERSE", dtype, *shape, axis=1 if order == "last" else 2)
    (tmp_path / "a.vgf").write_bytes(data)
    rng = np.random.default_rng(3)
    if dtype == DType.INT8:
        values = rng.integers(-127, 128, (height, width, channels)).astype("i1")
    else:
        values = rng.standard_normal((height, width, channels)).astype("f2")
    of_image = 1 if source[0] in (R8_SNORM, R16F, R32F, D32) else 4
    texels(values, of_image, source[1]).tofile(tmp_path / "x")
    frame(tmp_path, "images", "a.vgf", source[0], target[0], order, "x", "y")
    of_image = 1 if target[0] in (R8_SNORM, R16F, R32F) else 4
    got = np.fromfile(tmp_path / "y", target[1])[: height * width * of_image].reshape(height, width, of_image)
    assert np.array_equal(got[..., :channels], values[::-1].astype(target[1]))
    if channels < of_image:
        one = 127 if dtype == DType.INT8 else 1
        assert (got[..., channels:-1] == 0).all() and (got[..., -1] == one).all()


def test_a_missing_barrier_is_told_of(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """Synchronization validation is there, and would not be silent."""
    (tmp_path / "a.vgf").write_bytes(graph_vgf("REVERSE", DType.FP32, 4, 4, 4, axis=0))
    np.zeros(64, "f4").tofile(tmp_path / "x")
    words = ("images", "a.vgf", RGBA32F, RGBA32F, "last", "x", "y", "unsynchronized")
    frame(tmp_path, *words, told="SYNC-HAZARD")


def test_values_of_normalized_texels(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """A tensor of floats has what a shader reads; what it writes is rounded."""
    (tmp_path / "a.vgf").write_bytes(graph_vgf("REVERSE", DType.FP32, 16, 16, 4, axis=0))
    bgra = np.arange(1024, dtype=np.uint8).reshape(16, 16, 4)
    bgra.tofile(tmp_path / "x")
    frame(tmp_path, "images", "a.vgf", BGRA8, RGBA32F, "last", "x", "y")
    got = np.fromfile(tmp_path / "y", "f4")[:1024].reshape(16, 16, 4)
    np.testing.assert_allclose(got, bgra[::-1][..., [2, 1, 0, 3]] / 255, atol=1e-6)
    frame(tmp_path, "images", "a.vgf", BGRA8, RGBA8, "last", "x", "y")
    got = np.fromfile(tmp_path / "y", "u1")[:1024].reshape(16, 16, 4)
    assert np.array_equal(got, bgra[::-1][..., [2, 1, 0, 3]])


def run_int8(vgf: Any, frame: Frame, folder: Path, *words: str) -> list[str]:
    """Runs a command with the network, an input and an output, whose bits are those of a session."""
    data = network("int8")
    (folder / "a.vgf").write_bytes(data)
    with vgf.Session(data, engine="compute") as session:
        ((x,),) = of_frames(session, 1)
        (wanted,) = session.run([x])
    (folder / "x").write_bytes(x.tobytes())
    said = frame(folder, *words, "a.vgf", "x", "y").splitlines()
    assert (folder / "y").read_bytes() == wanted.tobytes()
    return said


def test_a_lost_device_is_told_and_survived(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """By a result of its own, in C++ and in C; programs on a device that is made anew run."""
    said = run_int8(vgf, frame, tmp_path, "lost")
    calls = ("vkCreateComputePipelines", "vkQueueSubmit", "vkWaitForFences")
    rows = [(f"1 -4 {call}: the device was lost (VkResult -4)", "0 -4", "0") for call in calls]
    assert said == [line for row in rows for line in row]


def test_a_forked_child_leaves_the_device_alone(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    assert run_int8(vgf, frame, tmp_path, "forked") == ["destroyed 0", "destroyed"]


def test_threads(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """Eight, which load programs of one device and record them into command buffers of their own."""
    assert run_int8(vgf, frame, tmp_path, "threads") == []


def test_formats_with_other_texels(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """What a sampler decodes, what is packed, and what is written in another order or rounded."""

    def turned(source: int, target: int, texels: Array, dtype: str, channels: int = 4) -> Array:
        data = graph_vgf("REVERSE", DType.FP32, *texels.shape[:2], channels, axis=0)
        (tmp_path / "a.vgf").write_bytes(data)
        texels.tofile(tmp_path / "x")
        frame(tmp_path, "images", "a.vgf", source, target, "last", "x", "y")
        return np.fromfile(tmp_path / "y", dtype)

    texels = np.arange(1024, dtype=np.uint8).reshape(16, 16, 4)
    got = turned(RGBA8_SRGB, RGBA32F, texels, "f4")[:1024].reshape(16, 16, 4)[::-1]
    coded = texels[..., :3] / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    np.testing.assert_allclose(got[..., :3], linear, atol=2e-3)
    np.testing.assert_allclose(got[..., 3], texels[..., 3] / 255, atol=1e-6)

    got = turned(RGBA8, BGRA8, texels, "u1")[:1024].reshape(16, 16, 4)[::-1]
    assert np.array_equal(got, texels[..., [2, 1, 0, 3]])

    red = texels[..., :1].copy()
    assert np.array_equal(turned(R8, R8, red, "u1", 1)[:256].reshape(16, 16, 1)[::-1], red)

    # Exponents and mantissas of 11, 11 and 10 bits, as halves without a sign and with fewer digits.
    colors = np.random.default_rng(0).choice([0, 0.25, 0.75, 1, 1.5, 3, 96], (16, 16, 3)).astype("f2")
    bits = colors.view("u2").astype("u4")
    packed = bits[..., 0] >> 4 | bits[..., 1] >> 4 << 11 | bits[..., 2] >> 5 << 22
    got = turned(R11G11B10, RGBA32F, packed, "f4", 3)[:1024].reshape(16, 16, 4)[::-1]
    assert np.array_equal(got[..., :3], colors.astype("f4"))
    assert np.array_equal(turned(R11G11B10, R11G11B10, packed, "u4", 3)[:256].reshape(16, 16)[::-1], packed)


def test_formats_that_are_not_written_are_refused(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """By name, with what is written, or with the feature that the device was made without."""
    (tmp_path / "a.vgf").write_bytes(graph_vgf("REVERSE", DType.FP32, 4, 4, 1, axis=0))
    np.zeros(16, "f4").tofile(tmp_path / "x")

    def said(target: int, masked: str = "none") -> str:
        words = ("images", "a.vgf", R32F, target, "last", "x", "y")
        return frame(tmp_path, *words, f"masked={masked}", told="")

    assert f"images of VkFormat {D32} are not written; of float32, these are: R8_UNORM" in said(D32)
    feature = "shaderStorageImageWriteWithoutFormat"
    assert f"images of R16_SFLOAT are written with the feature {feature}, which" in said(R16F, feature)
    assert (tmp_path / "y").exists() is False and said(R32F, feature) == ""


def test_sizes_change_with_the_window(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    def doubled(size: int) -> Graph:
        graph = Graph()
        x = graph.input("x", (size, 6), DType.INT32)
        graph.outputs = [graph.append("ADD", [x, x]).output]
        return graph

    (tmp_path / "a.vgf").write_bytes(sized_vgf(doubled, 1, 9))
    for size in (2, 9):
        x = np.arange(6 * size, dtype=np.int32)
        x.tofile(tmp_path / "x")
        frame(tmp_path, "resize", "a.vgf", f"{size} 6", "x", "y")
        assert np.array_equal(np.fromfile(tmp_path / "y", np.int32), 2 * x)


def test_the_c_interface(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """A frame, and errors in place of exceptions."""
    data = graph_vgf("ABS", DType.INT32, 20)
    (tmp_path / "a.vgf").write_bytes(data)
    with vgf.Session(data) as session:
        x, y = session.inputs[0].name, session.outputs[0].name
    given = np.arange(-9, 11, dtype=np.int32)
    given.tofile(tmp_path / "x")
    said = frame(tmp_path, "c", "a.vgf", "x", "y").splitlines()
    assert np.array_equal(np.fromfile(tmp_path / "y", np.int32), np.abs(given))
    assert said[0].startswith("robustBufferAccess of ")
    assert said[1:] == [
        f"-1 output '{y}' is not bound in frame 1",
        "-1 the program is NULL",
        f"-1 nothing is called ''; there are '{x}', '{y}'",
        f"-1 output '{y}': the image's view is null",
        "-1 the adopted device's `device` is null",
        "-1 the VGF is NULL",
        "-1 output 1: the program has 1 outputs, numbered from 0",
        "-1 symbol 0 of 0",
        f"-1 a state: no input is called 'nothing'; there are '{x}'",
        said[-2],
        "all freed",
    ]
    assert "integer dot products" in said[-2]


def test_recording_allocates_nothing_and_memory_stays_flat(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    (tmp_path / "a.vgf").write_bytes(network("int8"))
    rows = [line.rsplit(" ", 1) for line in frame(tmp_path, "many", "a.vgf", 400, alone=True).splitlines()]
    used = [int(value) for name, value in rows if name == "in use"]
    assert rows[-1] == ["allocations", "0"]
    assert len(used) == 4 and used[3] - used[1] < 1 << 14, used


def test_times_of_frames_in_flight(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    """What benchmarks.vgf_frames reads; memory is flat, the process's but for what the driver keeps."""
    (tmp_path / "a.vgf").write_bytes(network("int8"))
    found = json.loads(frame(tmp_path, "times", "a.vgf", 400, 3, alone=True))
    times = ["record_us", "wait_us", "device_ms", "frame_ms"]
    memory = ["work_mib", "constants_mib", "process_mib", "process_grown_mib", "held_mib", "held_grown_mib"]
    assert list(found) == [*times, *memory]
    assert all(value > 0 or name.endswith("grown_mib") for name, value in found.items()), found
    assert found["held_grown_mib"] == 0 and found["process_grown_mib"] < 16, found  # a driver may keep some
    assert found["held_mib"] >= found["work_mib"] + found["constants_mib"]


def test_errors_say_what_to_do(vgf: Any, frame: Frame, tmp_path: Path) -> None:
    data = graph_vgf("ABS", DType.FP32, 3, 4, 1)
    (tmp_path / "a.vgf").write_bytes(data)
    with vgf.Session(data) as session:
        x, y = session.inputs[0].name, session.outputs[0].name
    said = frame(tmp_path, "errors", "a.vgf").splitlines()
    assert said[:6] == [
        "frame 2: frames are numbered 0 to 1, as many as ProgramOptions::frames_in_flight says",
        f"nothing is called 'nothing'; there are '{x}', '{y}'",
        f"input '{x}': its offset, 2, is no multiple of 4",
        f"input '{x}': the buffer is null",
        *said[4:6],
    ]
    assert said[4].startswith(
        f"input '{x}': images of VkFormat 13 are not read; of float32, these are: R8_UNORM, R8G8_UNORM"
    )
    assert " are not read (depth with stencil: copy the depth to R32_SFLOAT); of float32, " in said[5]
    fit = "an image of {} R32_SFLOAT with channels {} does not fit its shape, [3, 4, 1]; {}"
    layout = "its image must be in the layout GENERAL, SHADER_READ_ONLY_OPTIMAL or READ_ONLY_OPTIMAL; Image::layout"
    assert said[6:] == [
        f"input '{x}': " + fit.format("2 x 2", "last", "that is 4 x 3 with 1 channels"),
        f"input '{x}': " + fit.format("4 x 3", "first", "it fits with Channels::kLast"),
        f"input '{x}': {layout} was not set",
        f"input '{x}': {layout} is VkImageLayout 2",
        "the program's sizes are fixed: export the model with sizes that vary (torch.export.Dim), or make a program of "
        "another VGF for other sizes",
        f"input '{x}' is not bound in frame 0",
        "frames_in_flight is 0: a program needs one at least",
        "the adopted device's `instance` is null",
        "api_version is 0: give that of VkApplicationInfo, such as VK_API_VERSION_1_3",
        "output 1: the program has 1 outputs, numbered from 0",
        "push constants 0: the program has none",
        "VGF: this is a program of ExecuTorch (.pte): compile to a file called .vgf, or take the VGFs out with "
        "`arm-tosa extract`",
    ]
