"""Programs of every kind that a VGF may be, run and compared with what they mean."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory import allocated
from vgf_files import (
    R8_UINT,
    R16_UINT,
    SPEC,
    STORAGE_BUFFER,
    UNIFORM_BUFFER,
    Resource,
    Segment,
    double_code,
    graph_vgf,
    shader,
    write,
)

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

X = np.array([1, -2, 3, 2**30], np.int32)
GRAPH = "graph_partition_0"


def double(source: int, target: int, name: str = "double", size: int = 4) -> Segment:
    return Segment(double_code(size), {0: [(0, source), (1, target)]}, entry_point=GRAPH, name=name)


TYPES = {
    "int8": (DType.INT8, "MAXIMUM", np.int8),
    "int16": (DType.INT16, "MAXIMUM", np.int16),
    "int32": (DType.INT32, "MAXIMUM", np.int32),
    "float16": (DType.FP16, "MAXIMUM", np.float16),
    "float32": (DType.FP32, "MAXIMUM", np.float32),
    "bool": (DType.BOOL, "LOGICAL_OR", np.bool_),
}


@pytest.mark.parametrize("name", [n for n in TYPES if n not in ("int8", "int16")])
def test_every_type(vgf: Any, name: str) -> None:
    dtype, op, kind = TYPES[name]
    data = graph_vgf(op, dtype, 2, 3, operands=2)
    one, two = (np.random.default_rng(seed).integers(0, 2 if name == "bool" else 99, (2, 3)) for seed in (1, 2))
    with vgf.Session(data) as session:
        assert [t.dtype for t in session.inputs + session.outputs] == [name] * 3
        (out,) = session.run([one.astype(kind), two.astype(kind)])
    assert out.dtype == kind
    assert np.array_equal(out, np.maximum(one, two).astype(kind))


@pytest.mark.parametrize(("dtype", "kind"), [(DType.INT8, np.int8), (DType.INT16, np.int16)])
def test_narrow_types(vgf: Any, dtype: DType, kind: type) -> None:
    x = np.arange(-12, 12).reshape(2, 3, 4).astype(kind)
    (out,) = vgf.run(graph_vgf("REVERSE", dtype, 2, 3, 4, axis=2), [x])
    assert np.array_equal(out, x[:, :, ::-1])


def test_bfloat16_passes_as_its_bits(vgf: Any) -> None:
    bits = np.array([0x3F80, 0xC000, 0x7F80], np.uint16)  # 1, -2, infinity
    (out,) = vgf.run(graph_vgf("REVERSE", DType.BF16, 3, axis=0), [bits.view(np.int16)])
    assert np.array_equal(out.view(np.uint16), bits[::-1])


def test_int64_narrows_within_its_range(vgf: Any) -> None:
    data = graph_vgf("ABS", DType.INT32, 4)
    (out,) = vgf.run(data, [X.astype(np.int64)])
    assert np.array_equal(out, np.abs(X))
    with pytest.raises(vgf.VgfError, match=r"input 0 \('.*'\) holds 2147483648, which int32"):
        vgf.run(data, [np.array([0, 1, 2**31, 3], np.int64)])


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "has 1 inputs, got 0"),
        ([X, X], "has 1 inputs, got 2"),
        ([X[:3]], r"input 0 \('.*'\) has shape \[4\], got \[3\]"),
        ([X[None]], r"has shape \[4\], got \[1, 4\]"),
        ([X.astype(np.float32)], "is int32, got float32"),
        ([X.astype(np.float64)], r"input 0 \('.*'\) is int32, got float64"),
        ([X, np.array([{}])], "input 1, got object"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(vgf: Any, inputs: list[Any], message: str) -> None:
    with pytest.raises(vgf.VgfError, match=message):
        vgf.run(graph_vgf("ABS", DType.INT32, 4), inputs)


def test_arrays_of_every_order(vgf: Any) -> None:
    """Lists, other byte orders and other strides are the same numbers."""
    x = np.arange(-3, 3, dtype=np.int32).reshape(2, 3)
    with vgf.Session(bytearray(graph_vgf("ABS", DType.INT32, 2, 3)), device=0) as session:
        for given in (x.astype(">i4"), np.asfortranarray(x), x[::-1][::-1], x.tolist()):
            assert np.array_equal(session.run([given])[0], np.abs(x))


def test_a_closed_session_says_so(vgf: Any) -> None:
    session = vgf.Session(graph_vgf("ABS", DType.INT32, 4))
    session.close()
    session.close()
    for use in (lambda: session.run([X]), session.profile, session.memory):
        with pytest.raises(vgf.VgfError, match="the session is closed"):
            use()


def test_a_path_is_no_program(vgf: Any) -> None:
    with pytest.raises(TypeError, match="a VGF's bytes are needed, not str"):
        vgf.Session("model.vgf")


def test_graphs_in_order_share_memory(vgf: Any) -> None:
    """Four doublings: of the three tensors between them only two are alive at once, so one place serves two."""
    size = 4096
    resources = [Resource(role, (size,)) for role in ("Input", "Output", *["Intermediate"] * 3)]
    segments = [double(source, target, size=size) for source, target in ((0, 2), (2, 3), (3, 4), (4, 1))]
    with vgf.Session(write(resources, segments, [0], [1])) as session:
        for x in (np.arange(size, dtype=np.int32), np.full(size, -5, np.int32)):
            assert np.array_equal(session.run([x])[0], x * 16)
        memory = session.memory()
    assert memory["saved"] == size * 4
    assert memory["work"] < 3 * size * 4


def test_shaders_between_graphs(vgf: Any) -> None:
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
    with vgf.Session(write(resources, segments, [0], [6])) as session:
        for x in (X, -X):
            assert np.array_equal(session.run([x])[0], (100 - 2 * x + 10) * 2)


@pytest.mark.parametrize(("kind", "format_"), [(np.uint8, R8_UINT), (np.uint16, R16_UINT)])
def test_unsigned_types(vgf: Any, kind: type, format_: int) -> None:
    """The graph compiler makes none, shaders may: here one that adds 10 to the int32 that the elements lie on."""
    size = 16 // np.dtype(kind).itemsize
    resources = [Resource(role, (size,), STORAGE_BUFFER, format_) for role in ("Input", "Output")]
    add = Segment(shader("add_buffer"), {0: [(0, 0), (1, 1)]}, graph=False, dispatch=(4, 1, 1))
    with vgf.Session(write(resources, [add], [0], [1])) as session:
        assert [t.dtype for t in session.inputs + session.outputs] == [np.dtype(kind).name] * 2
        (out,) = session.run([X.view(kind)])
        with pytest.raises(vgf.VgfError, match=f"input 0 .'input0'. is {np.dtype(kind).name}, got int8"):
            session.run([np.zeros(size, np.int8)])
    assert out.dtype == kind
    assert np.array_equal(out.view(np.int32), X + 10)


def test_uniform_buffer(vgf: Any) -> None:
    """A shader's factor is a uniform buffer, which is an input of the program."""
    resources = [Resource(role, descriptor=STORAGE_BUFFER) for role in ("Input", "Output")]
    resources.append(Resource("Input", (1,), UNIFORM_BUFFER))
    scale = Segment(shader("scale_uniform"), {0: [(0, 0), (1, 1), (2, 2)]}, graph=False, dispatch=(4, 1, 1))
    with vgf.Session(write(resources, [scale], [0, 2], [1])) as session:
        for factor in (7, -3):
            assert np.array_equal(session.run([X, np.array([factor], np.int32)])[0], X * np.int32(factor))


def test_profile_has_host_and_device_events(vgf: Any) -> None:
    resources = [Resource("Input"), Resource("Intermediate"), Resource("Output")]
    data = write(resources, [double(0, 1, "first"), double(1, 2, "second")], [0], [2])
    with vgf.Session(data) as session:
        assert session.profile() == []
        session.run([X])
        events = session.profile()
    names = [(e.name, e.on_device) for e in events]
    assert names[:3] == [("copy inputs", False), ("run", False), ("copy outputs", False)]
    assert names[3:] == [("first", True), ("second", True)]
    run = events[1]
    assert all(run.begin <= e.begin <= e.end <= run.end for e in events[3:])
    assert events[3].end <= events[4].begin


def test_port_names(vgf: Any) -> None:
    resources = [Resource("Input"), Resource("Output")]
    with vgf.Session(write(resources, [double(0, 1)], [0], [1], (["pixels"], []))) as session:
        assert [t.name for t in session.inputs + session.outputs] == ["pixels", "output0"]


def test_threads(vgf: Any) -> None:
    """Several sessions at once, and several threads on one of them."""
    data = graph_vgf("ABS", DType.INT32, 4)
    shared = vgf.Session(data)
    wrong: list[Any] = []

    def work(session: Any, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.integers(-99, 99, 4).astype(np.int32)
            if not np.array_equal(session.run([x])[0], np.abs(x)):
                wrong.append(x)

    def load_and_work(seed: int) -> None:
        with vgf.Session(data) as own:
            work(own, seed)

    threads = [threading.Thread(target=load_and_work, args=(i,)) for i in range(3)]
    threads += [threading.Thread(target=work, args=(shared, 10 + i)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    assert not wrong


def test_loading_and_unloading_keeps_memory_flat(vgf: Any) -> None:
    """400 here; tests/vgf/cycles.py does 1,000."""
    data = graph_vgf("ABS", DType.INT32, 64)

    def least() -> int:
        """What is in use at least after one of 50 cycles; the driver keeps 1 MiB for some cycles now and then."""
        sizes = []
        for _ in range(50):
            vgf.run(data, [np.zeros(64, np.int32)])
            sizes.append(allocated())
        return min(sizes)

    _, before, *_, after = (least() for _ in range(8))  # first, malloc's caches fill
    assert after - before < 3 << 19  # 1.5 MiB; a leak of 7 KiB per cycle was seen once: 2.1 MiB


def child(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A Python process of its own: a process keeps the device that it chose."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(("ARM_VGF", "VK_", "VIRTUAL_ENV"))}
    command = [sys.executable, "-c", f"from arm_runtime.vgf import Session\n{code}"]
    return subprocess.run(command, env={**given, **env}, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "abs.vgf"
    path.write_bytes(graph_vgf("ABS", DType.INT32, 4))
    return path


def test_device_choice(vgf: Any, file: Path, tmp_path: Path) -> None:
    """By number, by part of its name, by option before variable; an unknown one lists those there are."""
    load = f"print(Session(open({str(file)!r}, 'rb').read(), *%s).device)"
    every = child(load % "[]").stdout.strip()
    assert child(load % "['0']").stdout.strip()
    name = every.split()[0].upper()
    assert child(load % [name], ARM_VGF_DEVICE="no such").stdout.strip() == every
    failed = child(load % "[]", ARM_VGF_DEVICE="no such")
    assert "no Vulkan 1.3 device 'no such'" in failed.stderr
    assert f"{every.removesuffix(' (emulated)')}: give a number of these, or a part of a name" in failed.stderr


def test_what_is_missing_is_said(vgf: Any, file: Path, tmp_path: Path) -> None:
    load = f"Session(open({str(file)!r}, 'rb').read())"
    assert "ARM_VGF_LAYERS is /nowhere, which does not hold" in child(load, ARM_VGF_LAYERS="/nowhere").stderr
    none = child(load, VK_ICD_FILENAMES="/nowhere.json", VK_DRIVER_FILES="/nowhere.json")
    assert "no Vulkan driver on this machine: install" in none.stderr
    assert "TMPDIR must name one that can be written to" in child(load, TMPDIR="/nowhere").stderr
    (tmp_path / "libvulkan.so.1").write_bytes(b"")
    loader = child(load, LD_LIBRARY_PATH=str(tmp_path))
    assert re.search(r"no Vulkan loader on this machine \(.*too short\): install it", loader.stderr), loader.stderr


def test_the_users_layer_path_is_kept(vgf: Any, file: Path, tmp_path: Path) -> None:
    """The loader's variable is as it was after a session is loaded, and the temporary manifests are gone."""
    code = f"""
import ctypes
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
Session(open({str(file)!r}, 'rb').read())
print(getenv(b'VK_LAYER_PATH').decode())"""
    done = child(code, VK_LAYER_PATH=str(tmp_path), TMPDIR=str(tmp_path))
    assert done.stdout.strip() == str(tmp_path), done.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_kept_between_processes(vgf: Any, file: Path, tmp_path: Path) -> None:
    """Two files appear, of pipelines and of shaders; those that were cut, or hold something else, are replaced."""
    cache = tmp_path / "cache"
    load = f"import numpy as np; print(Session(open({str(file)!r}, 'rb').read()).run([np.full(4, -1, np.int32)]))"
    whole: list[bytes] = []
    for broken in (lambda data: data[:-3], lambda data: bytes(len(data)), lambda data: b""):
        assert "[1, 1, 1, 1]" in child(load, ARM_VGF_CACHE=str(cache)).stdout
        kept = sorted(cache.iterdir())
        assert len(kept) == 2
        whole = whole or [path.read_bytes() for path in kept]
        assert [path.read_bytes() for path in kept] == whole
        for path in kept:
            path.write_bytes(broken(path.read_bytes()))
    assert child(load, ARM_VGF_CACHE="").returncode == 0
    assert child(load, ARM_VGF_CACHE="/proc/no such folder").returncode == 0


def test_second_load(vgf: Any, tmp_path: Path) -> None:
    """A second process loads in half the time of the first at most, as it finds the shaders that the first translated;
    CPU time, which other processes disturb less. Equal operators share a pipeline: else those would take most of it."""
    graph = Graph()
    x = graph.input("x", (4,), DType.INT32)
    y = x
    for _ in range(10):
        for op in ("ABS", "BITWISE_NOT", "CLZ"):
            y = graph.append(op, [y]).output
        y = graph.append("ADD", [y, x]).output
    graph.outputs = [y]
    (tmp_path / "chain.vgf").write_bytes(convert(serialize(graph, SPEC)))
    code = f"""
import time, numpy as np
vgf = open({str(tmp_path / "chain.vgf")!r}, 'rb').read()
start = time.process_time()
session = Session(vgf)
print(time.process_time() - start, session.run([np.array([1, -2, 3, 2**30], np.int32)])[0].tolist())"""
    env = {"ARM_VGF_CACHE": str(tmp_path / "cache"), "MESA_SHADER_CACHE_DISABLE": "true", "OMP_NUM_THREADS": "1"}
    first, second = (child(code, **env).stdout.split(maxsplit=1) for _ in range(2))
    assert first[1] == second[1]
    assert float(second[0]) <= 0.5 * float(first[0])
