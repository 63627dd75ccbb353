"""Running a VGF by itself, without an ExecuTorch program around it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from . import LIBRARY
from ._arrays import Array, plain

#: Types that numpy lacks, as the type that holds their bits.
_HELD_AS = {"bfloat16": "int16"}


class VgfError(RuntimeError):
    """A VGF is malformed or not supported, an argument does not fit, or Vulkan failed; says what to do."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or output: ``dtype`` is a numpy type's name, or ``bfloat16``."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """A span of a run, in nanoseconds of ``time.monotonic_ns()``."""

    name: str
    on_device: bool
    begin: int
    end: int


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
    )


class _Argument(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_size_t),
    )


class _Event(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("on_device", ctypes.c_int32),
        ("begin", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
    )


LIBRARY.arm_vgf_last_error.restype = ctypes.c_char_p
LIBRARY.arm_vgf_open.restype = ctypes.c_void_p
LIBRARY.arm_vgf_open.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p)
LIBRARY.arm_vgf_close.argtypes = (ctypes.c_void_p,)
LIBRARY.arm_vgf_device.restype = ctypes.c_char_p
LIBRARY.arm_vgf_device.argtypes = (ctypes.c_void_p,)
LIBRARY.arm_vgf_memory.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64))
LIBRARY.arm_vgf_tensors.restype = ctypes.c_size_t
LIBRARY.arm_vgf_tensors.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(_Tensor)))
_Arguments = ctypes.POINTER(_Argument)
LIBRARY.arm_vgf_run.argtypes = (ctypes.c_void_p, _Arguments, ctypes.c_size_t, _Arguments, ctypes.c_size_t)
LIBRARY.arm_vgf_profile.restype = ctypes.c_size_t
LIBRARY.arm_vgf_profile.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(_Event)))


class Session:
    """A loaded VGF; a context manager that unloads it.

    Args:
        vgf: the program.
        device: part of a Vulkan device's name, or its number. Without: as the environment variable ``ARM_VGF_DEVICE``
            says, else a device with Arm's extensions, else the fastest one with Arm's emulation layer.

    Raises:
        VgfError: the program is malformed or unsupported, or this machine lacks Vulkan or a part of it.
        TypeError: ``vgf`` is not bytes.
    """

    def __init__(self, vgf: bytes | bytearray | memoryview, device: str | int | None = None) -> None:
        if not isinstance(vgf, bytes | bytearray | memoryview):
            raise TypeError(f"a VGF's bytes are needed, not {type(vgf).__name__}; of a file: Path(...).read_bytes()")
        data = bytes(vgf)
        self._opened = LIBRARY.arm_vgf_open(data, len(data), None if device is None else str(device).encode())
        if not self._opened:
            raise VgfError(LIBRARY.arm_vgf_last_error().decode())
        self.device: str = LIBRARY.arm_vgf_device(self._handle).decode()
        self.inputs = self._tensors(0)
        self.outputs = self._tensors(1)

    @property
    def _handle(self) -> int:
        if not self._opened:
            raise VgfError("the session is closed")
        return int(self._opened)

    def _tensors(self, outputs: int) -> list[TensorInfo]:
        found = ctypes.POINTER(_Tensor)()
        count = LIBRARY.arm_vgf_tensors(self._handle, outputs, ctypes.byref(found))
        tensors = (found[i] for i in range(count))
        return [TensorInfo(t.name.decode(), t.type.decode(), tuple(t.shape[: t.rank])) for t in tensors]

    def memory(self) -> dict[str, int]:
        """Bytes of device memory: ``inputs``, ``outputs``, ``work``, and what sharing within the last ``saved``."""
        sizes = (ctypes.c_uint64 * 4)()
        LIBRARY.arm_vgf_memory(self._handle, sizes)
        return dict(zip(("inputs", "outputs", "work", "saved"), sizes, strict=True))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs the program once.

        Args:
            inputs: one array for each input, of its shape and type (bfloat16 as any 2-byte type; int64 for int32).

        Returns:
            An array for each output, of its shape and type; bfloat16 as its bits, in int16.

        Raises:
            VgfError: an input does not fit, or the device failed.
        """
        whole = [plain(a) for a in inputs]
        outputs = [np.empty(t.shape, _HELD_AS.get(t.dtype, t.dtype)) for t in self.outputs]
        given = [
            "bfloat16" if i < len(self.inputs) and self._holds_bfloat16(i, a) else a.dtype.name
            for i, a in enumerate(whole)
        ]
        tables = [_table(whole, given), _table(outputs, [t.dtype for t in self.outputs])]
        if LIBRARY.arm_vgf_run(self._handle, tables[0], len(whole), tables[1], len(outputs)):
            raise VgfError(LIBRARY.arm_vgf_last_error().decode())
        return outputs

    def _holds_bfloat16(self, index: int, array: Array) -> bool:
        return self.inputs[index].dtype == "bfloat16" and array.dtype.itemsize == 2

    def profile(self) -> list[Event]:
        """The events of the last run: copies, the whole run, and each segment on the device.

        Runs note events only after the first call, which therefore returns none.
        """
        found = ctypes.POINTER(_Event)()
        count = LIBRARY.arm_vgf_profile(self._handle, ctypes.byref(found))
        events = (found[i] for i in range(count))
        return [Event(e.name.decode(), bool(e.on_device), e.begin, e.end) for e in events]

    def close(self) -> None:
        """Unloads the program; what is asked of the session afterwards is a ``VgfError``."""
        if self._opened:
            LIBRARY.arm_vgf_close(self._opened)
            self._opened = None

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _table(arrays: Sequence[Array], types: Sequence[str]) -> ctypes.Array[_Argument]:
    return (_Argument * len(arrays))(
        *(
            _Argument(a.ctypes.data, t.encode(), (ctypes.c_int64 * a.ndim)(*a.shape), a.ndim)
            for a, t in zip(arrays, types, strict=True)
        )
    )


def run(vgf: bytes | bytearray | memoryview, inputs: Sequence[Array], device: str | int | None = None) -> list[Array]:
    """Loads a VGF, runs it once and unloads it; see ``Session``."""
    with Session(vgf, device) as session:
        return session.run(inputs)
