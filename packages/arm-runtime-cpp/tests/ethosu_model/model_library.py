"""The functional model through its C interface."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_ELEMENTS = {1: np.int8, 2: np.int16, 4: np.int32}
#: Bytes that the model may take for itself.
WORKSPACE = 1 << 28
#: Bytes of the fast scratch memory of Ethos-U65's default memory mode; the others have none.
FAST_SCRATCH = 384 * 1024


class Fault(Exception):
    """The model stopped: ``code`` as ``EthosUFaultCode`` (0: it did not start), and its text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Program(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("command_stream", ctypes.c_char_p),
        ("bytes", ctypes.c_size_t),
        ("family", ctypes.c_uint32),
        ("macs", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("workspace_limit", ctypes.c_uint64),
    )


class _Region(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("written", ctypes.c_void_p),
        ("read_only", ctypes.c_int32),
    )


@dataclass
class Region:
    """Memory of one region, and beside it what has been written of it (None: all)."""

    data: Array
    written: Array | None = None
    read_only: bool = False


@functools.cache
def library(path: Path) -> ctypes.CDLL:
    """Loads ``libarm_ethosu_model_c.so``."""
    loaded = ctypes.CDLL(str(path))
    count = ctypes.POINTER(ctypes.c_size_t)
    loaded.arm_ethosu_model_last_error.restype = ctypes.c_char_p
    loaded.arm_ethosu_model_run.argtypes = [
        ctypes.POINTER(_Program), ctypes.POINTER(_Region), ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32),
    ]  # fmt: skip
    loaded.arm_ethosu_model_decode_weights.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, count,
    ]  # fmt: skip
    return loaded


def decode_weights(path: Path, stream: bytes, capacity: int) -> Array | None:
    """The weights of a stream, ``capacity`` at most; None: it is malformed."""
    weights, count = np.zeros(capacity, np.int16), ctypes.c_size_t()
    decode = library(path).arm_ethosu_model_decode_weights
    if decode(stream, len(stream), weights.ctypes.data, weights.size, ctypes.byref(count)):
        return None
    return weights[: count.value]


def run_stream(
    path: Path, accelerator: str, stream: bytes, regions: Sequence[Region], threads: int = 1, **members: int
) -> None:
    """Runs a payload; ``accelerator`` as Vela names it, ``members`` of ``arm_ethosu_program``. Raises Fault."""
    _, family, macs = accelerator.rsplit("-", 2)
    table = (_Region * len(regions))()
    for i, region in enumerate(regions):
        marks = None if region.written is None else region.written.ctypes.data
        data = region.data
        table[i] = _Region(ctypes.sizeof(_Region), data.ctypes.data, data.size, marks, region.read_only)
    size, fault = ctypes.sizeof(_Program), ctypes.c_int32()
    program = _Program(size, stream, len(stream), int(family[1:]), int(macs), threads, WORKSPACE)
    for name, value in members.items():
        setattr(program, name, value)
    if library(path).arm_ethosu_model_run(program, table, len(regions), fault):
        raise Fault(fault.value, library(path).arm_ethosu_model_last_error().decode())


def run(
    path: Path, accelerator: str, arrays: Mapping[str, Array], inputs: Sequence[Array], threads: int = 1
) -> list[Array]:
    """Runs what Vela wrote (``VelaOutput.arrays``), every read checked; outputs are flat, of Vela's element size."""
    scratch = np.zeros(int(arrays["scratch_size"]), np.uint8)
    fast = np.zeros(FAST_SCRATCH, np.uint8)
    regions = [
        Region(np.array(arrays["weight_data"]), read_only=True),
        Region(scratch, np.zeros(scratch.size, np.uint8)),
        Region(fast, np.zeros(fast.size, np.uint8)),
    ]
    for i, value in enumerate(inputs):
        data = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
        region, at = regions[int(arrays["input_region"][i])], int(arrays["input_offset"][i])
        region.data[at : at + data.size] = data
        assert region.written is not None
        region.written[at : at + data.size] = 1
    run_stream(path, accelerator, arrays["cmd_data"].tobytes(), regions, threads)
    outputs = []
    for i, shape in enumerate(arrays["output_shape"]):
        size, at = int(arrays["output_elem_size"][i]), int(arrays["output_offset"][i])
        region = regions[int(arrays["output_region"][i])]
        data = region.data[at : at + size * int(np.prod(shape))]
        assert region.written is not None and region.written[at : at + data.size].all(), f"output {i} is not complete"
        outputs.append(data.view(_ELEMENTS[size]).copy())
    return outputs
