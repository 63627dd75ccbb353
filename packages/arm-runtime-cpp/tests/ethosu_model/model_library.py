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
_MESSAGE = 8192
#: Bytes that the model may take for itself.
WORKSPACE = 1 << 28
#: Bytes of the fast scratch memory of Ethos-U65's default memory mode; the others have none.
FAST_SCRATCH = 384 * 1024


class Fault(Exception):
    """The model stopped: ``code`` as ``EthosUFaultCode``, and its text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Region(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
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
    loaded.arm_ethosu_model_run.argtypes = [
        ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(_Region), ctypes.c_uint32,
        ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64,
    ]  # fmt: skip
    loaded.arm_ethosu_decode_weights.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64]
    loaded.arm_ethosu_decode_weights.restype = ctypes.c_int64
    return loaded


def run_stream(path: Path, accelerator: str, stream: bytes, regions: Sequence[Region], threads: int = 1) -> None:
    """Runs a payload; ``accelerator`` as Vela names it. Raises Fault."""
    _, family, macs = accelerator.rsplit("-", 2)
    table = (_Region * 8)()
    for i, region in enumerate(regions):
        marks = None if region.written is None else region.written.ctypes.data
        table[i] = _Region(region.data.ctypes.data, region.data.size, marks, region.read_only)
    message = ctypes.create_string_buffer(_MESSAGE)
    status = library(path).arm_ethosu_model_run(
        stream, len(stream), int(family[1:]), int(macs), table, len(regions), threads, WORKSPACE, message, _MESSAGE
    )
    if status:
        raise Fault(status, message.value.decode())


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
