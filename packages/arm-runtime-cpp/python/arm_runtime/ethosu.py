"""Running a payload of the delegate ``EthosUBackend`` by itself, without an ExecuTorch program around it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from . import LIBRARY
from ._arrays import Array, plain
from ._text import text

_ELEMENTS = {1: np.int8, 2: np.int16, 4: np.int32}
_MOST_OUTPUTS = 1024


class EthosUError(RuntimeError):
    """A payload is malformed, its inputs do not fit, or it stopped with a fault."""


class _Buffer(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


class _Output(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("bytes", ctypes.c_size_t), ("element_bytes", ctypes.c_uint32))


_Buffers = ctypes.POINTER(_Buffer)
LIBRARY.arm_ethosu_payload_last_error.restype = ctypes.c_char_p
LIBRARY.arm_ethosu_payload_run.argtypes = (
    *(ctypes.c_char_p, ctypes.c_size_t),
    *(_Buffers, ctypes.c_size_t, _Buffers, ctypes.c_size_t),
)
LIBRARY.arm_ethosu_payload_get_outputs.argtypes = (
    *(ctypes.c_char_p, ctypes.c_size_t),
    *(ctypes.POINTER(_Output), ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)),
)


def _checked(status: int) -> None:
    if status:
        raise EthosUError(text(LIBRARY.arm_ethosu_payload_last_error()))


def _buffers(arrays: Sequence[Array]) -> ctypes.Array[_Buffer]:
    buffers = (_Buffer(ctypes.sizeof(_Buffer), array.ctypes.data, array.nbytes) for array in arrays)
    return (_Buffer * len(arrays))(*buffers)


def run(payload: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Runs a payload once on the functional model of the accelerator that it was compiled for.

    Args:
        payload: the block stream that ``arm_ethosu.payload.pack`` makes.
        inputs: one array for each input; its bytes are taken, its shape is not looked at.

    Returns:
        The outputs, flat, as int8, int16 or int32: the payload knows how large an element is, not what it means.

    Raises:
        EthosUError: the payload is malformed or made for an accelerator that is not modelled, an input has another size
            than the payload's, or the program stopped with a fault, which names the command and all registers.
    """
    table, count = (_Output * _MOST_OUTPUTS)(), ctypes.c_size_t()
    for output in table:
        output.size = ctypes.sizeof(_Output)
    _checked(LIBRARY.arm_ethosu_payload_get_outputs(payload, len(payload), table, _MOST_OUTPUTS, ctypes.byref(count)))
    if count.value > _MOST_OUTPUTS:
        raise EthosUError(f"the payload has {count.value} outputs; {_MOST_OUTPUTS} are the most that can be run")
    outputs = [np.empty(o.bytes // o.element_bytes, _ELEMENTS[o.element_bytes]) for o in table[: count.value]]
    whole = [plain(array) for array in inputs]
    _checked(
        LIBRARY.arm_ethosu_payload_run(
            payload, len(payload), _buffers(whole), len(whole), _buffers(outputs), len(outputs)
        )
    )
    return outputs
