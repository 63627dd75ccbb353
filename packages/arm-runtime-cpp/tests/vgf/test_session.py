"""Programs of every kind that a VGF may be, run and compared with what they mean."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from memory import allocated
from vgf_files import Resource, double, graph_vgf, write

from arm_tosa_core.tosa.ir import DType

X = np.array([1, -2, 3, 2**30], np.int32)


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


def test_profile_has_host_and_device_events(vgf: Any) -> None:
    resources = [Resource("Input"), Resource("Intermediate"), Resource("Output")]
    data = write(resources, [double(0, 1, "first"), double(1, 2, "second")], [0], [2])
    with vgf.Session(data) as session:
        assert session.profile() == []
        session.run([X])
        events = session.profile()
    names = [(e.name, e.on_device) for e in events]
    assert names[:3] == [("copy inputs", False), ("run", False), ("copy outputs", False)]
    assert names[3:] == [("0: ADD", True)] * 2
    run = events[1]
    assert all(run.begin <= e.begin <= e.end <= run.end for e in events[3:])
    assert events[3].end <= events[4].begin


def test_port_names(vgf: Any) -> None:
    resources = [Resource("Input"), Resource("Output")]
    with vgf.Session(write(resources, [double(0, 1)], [0], [1], (["pixels"], []))) as session:
        assert [t.name for t in session.inputs + session.outputs] == ["pixels", "output0"]


def test_threads(vgf: Any) -> None:
    """Five sessions at once in eight threads, four of them on one session."""
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

    threads = [threading.Thread(target=load_and_work, args=(i,)) for i in range(4)]
    threads += [threading.Thread(target=work, args=(shared, 10 + i)) for i in range(4)]
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


@pytest.mark.parametrize("what", ["run", "load", "find", "close"])
def test_a_forked_process_gets_an_error_and_does_not_hang(vgf: Any, what: str) -> None:
    """Vulkan's threads are not there in it."""
    data = graph_vgf("ABS", DType.INT32, 4)
    with vgf.Session(data) as session:
        calls = {
            "run": lambda: session.run([X]),
            "load": lambda: vgf.Session(data),
            "find": vgf.find_device,
            "close": session.close,
        }
        if (child := os.fork()) == 0:
            status = 1
            try:
                signal.alarm(30)  # which ends it
                calls[what]()
                status = 0 if what == "close" else 2
            except vgf.VgfError as error:
                status = 0 if "was forked from one that had opened a Vulkan device" in str(error) else 3
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert np.array_equal(session.run([X])[0], np.abs(X)), "and this one goes on"


def test_a_name_that_is_no_text(vgf: Any) -> None:
    """In what is told of a tensor, and in errors."""
    data = graph_vgf("ABS", DType.INT32, 4)
    with vgf.Session(data) as session:
        name = session.inputs[0].name.encode()
    spoiled = data.replace(name, b"\xff" + name[1:])
    with vgf.Session(spoiled) as session:
        assert session.inputs[0].name == "\\xff" + name[1:].decode()
        with pytest.raises(vgf.VgfError, match=r"input 0 \('\\xff.*'\) has shape \[4\], got \[2\]"):
            session.run([X[:2]])
