"""ExecuTorch delegates whose payloads a Python function runs, for targets without a delegate in C++."""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from . import FOLDER, LIBRARY

#: A payload, and the bytes of its inputs and, behind them, of its outputs, which the function writes.
Run = Callable[[bytes, Sequence[memoryview]], None]

assert LIBRARY is not None, "ExecuTorch's libraries are loaded first"


class _Buffer(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Buffer), ctypes.c_size_t)
_HOST = ctypes.CDLL(str(FOLDER / "lib" / "libarm_host_delegate.so"))
_HOST.arm_host_delegate_register.argtypes = (ctypes.c_char_p, _RUN)
_KEPT: list[Any] = []  # as long as the process lives: ExecuTorch calls them


def register(backend_id: str, run: Run) -> None:
    """Registers a delegate with ExecuTorch's runtime in this process.

    An exception of ``run`` ends the program's run with an error, and its traceback goes to standard error.

    Raises:
        ValueError: there is one of that name, or too many.
    """

    def called(payload: int, size: int, buffers: Any, count: int) -> int:
        try:
            views = [
                memoryview((ctypes.c_ubyte * buffers[index].bytes).from_address(buffers[index].data)).cast("B")
                if buffers[index].bytes
                else memoryview(bytearray())
                for index in range(count)
            ]
            run(ctypes.string_at(payload, size), views)
        except Exception:
            traceback.print_exc()
            return 1
        return 0

    kept = _RUN(called)
    if _HOST.arm_host_delegate_register(backend_id.encode(), kept) != 0:
        raise ValueError(f"ExecuTorch has a delegate {backend_id!r}, or no room for another one")
    _KEPT.append(kept)
