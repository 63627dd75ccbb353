"""Running a payload of the delegate ``EthosUBackend`` by itself, without an ExecuTorch program around it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from . import LIBRARY
from ._arrays import Array, plain
from ._text import text

_ELEMENTS = {1: np.int8, 2: np.int16, 4: np.int32}
_MESSAGE, _MOST_OUTPUTS = 8192, 1024


class EthosUError(RuntimeError):
    """A payload is malformed, its inputs do not fit, or it stopped with a fault."""


class _Buffer(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_uint64))


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
    message = ctypes.create_string_buffer(_MESSAGE)
    sizes, elements, count = (ctypes.c_uint64 * _MOST_OUTPUTS)(), (ctypes.c_uint32 * _MOST_OUTPUTS)(), ctypes.c_uint32()
    size = ctypes.c_uint64(len(payload))
    said = (message, ctypes.c_uint64(_MESSAGE))
    if LIBRARY.arm_ethosu_payload_outputs(payload, size, sizes, elements, _MOST_OUTPUTS, ctypes.byref(count), *said):
        raise EthosUError(text(message.value))
    if count.value > _MOST_OUTPUTS:
        raise EthosUError(f"the payload has {count.value} outputs; {_MOST_OUTPUTS} are the most that can be run")
    outputs = [np.empty(sizes[i] // elements[i], _ELEMENTS[elements[i]]) for i in range(count.value)]
    whole = [plain(array) for array in inputs]
    tables = [
        (_Buffer * len(arrays))(*(_Buffer(a.ctypes.data, a.nbytes) for a in arrays)) for arrays in (whole, outputs)
    ]
    if LIBRARY.arm_ethosu_payload_run(payload, size, tables[0], len(whole), tables[1], len(outputs), *said):
        raise EthosUError(text(message.value))
    return outputs
