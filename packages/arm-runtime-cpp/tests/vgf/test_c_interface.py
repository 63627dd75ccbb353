"""``arm_runtime/vgf_c.h``, as a program would use it that was built with another version of the header."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType

WORD = ctypes.sizeof(ctypes.c_size_t)


@pytest.fixture
def library(vgf: Any) -> Any:
    return vgf.LIBRARY


@pytest.fixture
def session(library: Any) -> Iterator[int]:
    data = graph_vgf("ABS", DType.INT32, 4)
    opened = library.arm_vgf_open(data, len(data), None)
    assert opened, library.arm_vgf_last_error()
    yield opened
    library.arm_vgf_close(opened)


def words(*values: int) -> Any:
    """A structure of words, the first of which is its size in bytes."""
    return (ctypes.c_size_t * len(values))(*values)


def raw(library: Any, name: str) -> Any:
    """A function without the types that ``arm_runtime.vgf`` gave it."""
    function = library[name]  # a new object
    function.restype = ctypes.c_int
    return function


def test_version(library: Any) -> None:
    library.arm_vgf_api_version.restype = ctypes.c_uint32
    assert library.arm_vgf_api_version() == 2


@pytest.mark.parametrize("known", [1, 2, 4, 12, 14])
def test_as_much_of_a_structure_is_filled_in_as_the_caller_knows(library: Any, session: int, known: int) -> None:
    """Of ``arm_vgf_info``, 13 words long, in a structure of 16: what lies behind its size is left alone."""
    untouched = 0xABCD
    info = words(known * WORD, *[untouched] * 15)
    assert raw(library, "arm_vgf_get_info")(ctypes.c_void_p(session), ctypes.byref(info)) == 0
    assert info[0] == known * WORD
    told = min(known, 13)
    assert untouched not in info[1:told]
    assert info[told:] == [untouched] * (16 - told)
    if told > 2:
        assert ctypes.string_at(info[2]) in (b"native", b"compute")


def test_options_of_a_caller_that_knows_of_no_engine(library: Any) -> None:
    """The word behind the size that is given is not read."""
    data = graph_vgf("ABS", DType.INT32, 4)
    options = words(2 * WORD, 0, 1)  # 1 is no address
    opened = library.arm_vgf_open(data, len(data), ctypes.cast(options, library.arm_vgf_open.argtypes[2]))
    assert opened
    library.arm_vgf_close(opened)


@pytest.mark.parametrize("size", [0, WORD - 1])
def test_a_structure_without_a_size_is_an_error(library: Any, session: int, size: int) -> None:
    data = graph_vgf("ABS", DType.INT32, 4)
    kind = library.arm_vgf_open.argtypes[2]
    assert not library.arm_vgf_open(data, len(data), ctypes.cast(words(size, 0, 0), kind))
    assert b"`size` is not set" in library.arm_vgf_last_error()
    for call, arguments in (
        ("arm_vgf_get_info", ()),
        ("arm_vgf_get_tensor", (0, ctypes.c_size_t(0))),
        ("arm_vgf_find_device", None),
    ):
        given = words(size, *[0] * 15)
        first = (ctypes.c_void_p(None),) if arguments is None else (ctypes.c_void_p(session), *arguments)
        assert raw(library, call)(*first, ctypes.byref(given)) == -1
        assert b"`size` is not set" in library.arm_vgf_last_error()


def test_arguments_of_a_larger_structure(library: Any, session: int) -> None:
    """A newer caller's arguments have more members: the array's step is the size that it gave."""
    shape = (ctypes.c_int64 * 1)(4)
    given, result = np.array([1, -2, 3, -4], np.int32), np.zeros(4, np.int32)
    name = ctypes.create_string_buffer(b"int32")
    arguments = [
        words(7 * WORD, a.ctypes.data, ctypes.addressof(name), ctypes.addressof(shape), 1, 9, 9)
        for a in (given, result)
    ]
    run = raw(library, "arm_vgf_run")
    one = ctypes.c_size_t(1)
    assert run(ctypes.c_void_p(session), arguments[0], one, arguments[1], one) == 0, library.arm_vgf_last_error()
    assert result.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(("outputs", "index"), [(0, 1), (1, 7)])
def test_a_tensor_that_is_not_there(library: Any, session: int, outputs: int, index: int) -> None:
    given = words(6 * WORD, *[0] * 5)
    call = raw(library, "arm_vgf_get_tensor")
    assert call(ctypes.c_void_p(session), outputs, ctypes.c_size_t(index), ctypes.byref(given)) == -1
    assert f"tensor {index} of 1".encode() in library.arm_vgf_last_error()


def test_no_session_is_an_error(library: Any) -> None:
    """NULL, as ``arm_vgf_open`` returns it, which not every caller looks at."""
    given, number = words(14 * WORD, *[0] * 13), ctypes.c_size_t(0)
    nobody, place = ctypes.c_void_p(None), ctypes.byref(ctypes.c_size_t())
    calls: dict[str, tuple[Any, ...]] = {
        "arm_vgf_get_info": (given,),
        "arm_vgf_get_tensor": (0, number, given),
        "arm_vgf_get_symbol": (number, given),
        "arm_vgf_get_output_shape": (None, number, number, place, place),
        "arm_vgf_get_push_constants": (number, given),
        "arm_vgf_set_push_constants": (number, b"", number),
        "arm_vgf_run": (None, number, None, number),
        "arm_vgf_get_event": (number, given),
    }
    for name, arguments in calls.items():
        assert raw(library, name)(nobody, *arguments) == -1, name
        assert library.arm_vgf_last_error() == b"the session is NULL", name
    assert library.arm_vgf_profile(nobody) == 0 and library.arm_vgf_plan(nobody) is None
    assert not library.arm_vgf_open(None, 8, None) and library.arm_vgf_last_error() == b"the VGF is NULL"
    library.arm_vgf_close(nobody)


@pytest.mark.parametrize(
    ("rank", "problem"), [(1 << 40, b"has rank 1099511627776"), (17, b"rank 17"), (1, b"no shape")]
)
def test_a_shape_that_no_tensor_has_is_not_read(library: Any, session: int, rank: int, problem: bytes) -> None:
    name, data = ctypes.create_string_buffer(b"int32"), np.zeros(4, np.int32)
    size = (ctypes.c_int64 * 1)(4)
    shape = 0 if rank == 1 else ctypes.addressof(size)
    argument = words(5 * WORD, data.ctypes.data, ctypes.addressof(name), shape, rank)
    count = ctypes.c_size_t(1)
    assert raw(library, "arm_vgf_run")(ctypes.c_void_p(session), argument, count, argument, count) == -1
    assert problem in library.arm_vgf_last_error()
