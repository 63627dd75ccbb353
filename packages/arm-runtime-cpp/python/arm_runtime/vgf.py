"""Running a VGF by itself, without an ExecuTorch program around it. It needs numpy, and nothing of ExecuTorch."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from . import FOLDER
from ._arrays import Array, plain
from ._text import text

#: Types that numpy lacks, as the type that holds their bits.
_HELD_AS = {"bfloat16": "int16"}


class VgfError(RuntimeError):
    """A VGF is malformed or not supported, an argument does not fit, or Vulkan failed; says what to do."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or output.

    Attributes:
        dtype: a numpy type's name, or ``bfloat16``.
        shape: of a program whose sizes vary, the largest.
        sizes: each dimension: its size, or an expression of symbols such as ``8*length``.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class PushConstants:
    """What a compute shader takes besides the inputs: ``bytes``, of which the first is the shader's byte ``offset``."""

    segment: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Event:
    """A span of a run, in nanoseconds of ``time.monotonic_ns()``."""

    name: str
    on_device: bool
    begin: int
    end: int


@dataclass(frozen=True)
class Statistic:
    """What a neural accelerator tells of a graph, in a format of its own, which Arm's tools read.

    Attributes:
        segment: of the program.
        kind: ``debug database`` and ``statistics info``, which do not change, and ``statistics``: of the last run.
    """

    segment: str
    kind: str
    data: bytes


@dataclass(frozen=True)
class Device:
    """A device, and who runs graphs on it: ``engine``, and why, as a sentence."""

    name: str
    engine: str
    engine_reason: str


class _Sized(ctypes.Structure):
    """A structure of ``arm_runtime/vgf_c.h``: its first member is its size."""

    def __init__(self, *values: object) -> None:
        super().__init__(ctypes.sizeof(type(self)), *values)


_OPTIONS = ("device", "engine", "tune", "sizes", "statistics")


class _Options(_Sized):
    _fields_ = (("size", ctypes.c_size_t), *((name, ctypes.c_char_p) for name in _OPTIONS))


class _Device(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        *((name, ctypes.c_char_p) for name in ("name", "engine", "engine_reason")),
    )


class _Info(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        *((name, ctypes.c_char_p) for name in ("device", "engine", "engine_reason")),
        *((name, ctypes.c_size_t) for name in ("inputs", "outputs")),
        *((f"{name}_bytes", ctypes.c_uint64) for name in ("input", "output", "work", "saved", "constant")),
        ("push_constants", ctypes.c_size_t),
        ("symbols", ctypes.c_size_t),
    )


class _Tensor(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
        ("sizes", ctypes.POINTER(ctypes.c_char_p)),
    )


class _Symbol(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("least", ctypes.c_int64),
        ("most", ctypes.c_int64),
    )


class _PushConstants(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("segment", ctypes.c_char_p),
        ("offset", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
    )


class _Argument(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_size_t),
    )


class _Event(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("on_device", ctypes.c_int32),
        ("begin", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
    )


class _Statistic(_Sized):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("segment", ctypes.c_char_p),
        ("kind", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
    )


@dataclass(frozen=True)
class _Call:
    """Tables of arguments without data, which take microseconds to make, and shape and type of each output."""

    given: ctypes.Array[_Argument]
    made: ctypes.Array[_Argument]
    outputs: list[tuple[Sequence[int], np.dtype[Any]]]


_Handle = ctypes.c_void_p
_Arguments = ctypes.POINTER(_Argument)
#: ``libarm_vgf``, whose C interface is ``include/arm_runtime/vgf_c.h``.
LIBRARY = ctypes.CDLL(str(FOLDER / "lib" / "libarm_vgf.so"))
LIBRARY.arm_vgf_last_error.restype = ctypes.c_char_p
LIBRARY.arm_vgf_find_device.argtypes = (ctypes.POINTER(_Options), ctypes.POINTER(_Device))
LIBRARY.arm_vgf_open.restype = _Handle
LIBRARY.arm_vgf_open.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(_Options))
LIBRARY.arm_vgf_close.argtypes = (_Handle,)
LIBRARY.arm_vgf_get_info.argtypes = (_Handle, ctypes.POINTER(_Info))
LIBRARY.arm_vgf_get_tensor.argtypes = (_Handle, ctypes.c_int, ctypes.c_size_t, ctypes.POINTER(_Tensor))
LIBRARY.arm_vgf_get_push_constants.argtypes = (_Handle, ctypes.c_size_t, ctypes.POINTER(_PushConstants))
LIBRARY.arm_vgf_set_push_constants.argtypes = (_Handle, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
LIBRARY.arm_vgf_get_symbol.argtypes = (_Handle, ctypes.c_size_t, ctypes.POINTER(_Symbol))
LIBRARY.arm_vgf_get_output_shape.argtypes = (
    *(_Handle, _Arguments, ctypes.c_size_t, ctypes.c_size_t),
    *(ctypes.POINTER(ctypes.POINTER(ctypes.c_int64)), ctypes.POINTER(ctypes.c_size_t)),
)
LIBRARY.arm_vgf_run.argtypes = (_Handle, _Arguments, ctypes.c_size_t, _Arguments, ctypes.c_size_t)
LIBRARY.arm_vgf_profile.restype = ctypes.c_size_t
LIBRARY.arm_vgf_profile.argtypes = (_Handle,)
LIBRARY.arm_vgf_get_event.argtypes = (_Handle, ctypes.c_size_t, ctypes.POINTER(_Event))
LIBRARY.arm_vgf_statistics.restype = ctypes.c_size_t
LIBRARY.arm_vgf_statistics.argtypes = (_Handle,)
LIBRARY.arm_vgf_get_statistic.argtypes = (_Handle, ctypes.c_size_t, ctypes.POINTER(_Statistic))
LIBRARY.arm_vgf_plan.restype = ctypes.c_char_p
LIBRARY.arm_vgf_plan.argtypes = (_Handle,)

#: Who can run a graph: the device itself, kernels of this package, Arm's emulation layer.
ENGINES = ("native", "compute", "layer")


def _checked(status: int) -> None:
    if status:
        raise VgfError(text(LIBRARY.arm_vgf_last_error()))


def _options(
    device: str | int | None,
    engine: str | None,
    tune: str | None = None,
    sizes: str | Sequence[Sequence[int]] | None = None,
    statistics: str | int | None = None,
) -> _Options:
    if sizes is not None and not isinstance(sizes, str):
        sizes = " ".join(str(list(shape)) for shape in sizes)
    given = (device, engine, tune, sizes, statistics)
    return _Options(*(None if option is None else str(option).encode() for option in given))


def find_device(device: str | int | None = None, engine: str | None = None) -> Device:
    """What would run a program here; arguments and errors are those of ``Session``."""
    found = _Device()
    _checked(LIBRARY.arm_vgf_find_device(ctypes.byref(_options(device, engine)), ctypes.byref(found)))
    return Device(text(found.name), text(found.engine), text(found.engine_reason))


class Session:
    """A loaded VGF; a context manager that unloads it.

    Args:
        vgf: the program.
        device: part of a Vulkan device's name, or its number. Without: as the environment variable ``ARM_VGF_DEVICE``
            says, else the fastest device that the engine runs on.
        engine: ``native`` (the device's own VK_ARM_data_graph), ``compute`` (kernels of this package, on any Vulkan
            1.1 device) or ``layer`` (Arm's emulation layer). Without: as the environment variable ``ARM_VGF_ENGINE``
            says, else native if a device can, else compute.
        tune: when variants of kernels are timed at the first load of a program, to run the fastest: ``on`` (on GPUs),
            ``off``, or ``always`` (every load; on software renderers too). Without: as the environment variable
            ``ARM_VGF_TUNE`` says, else ``on``. Outputs do not depend on it.
        sizes: the shapes of the inputs, in order, of a file that leaves sizes open (-1). Or a text of them with names
            for sizes that runs choose, and the names' bounds: ``"[n, 2*m+1] [m] n=1..8 m=2..16"``. Of a file that
            leaves none open it does not matter.
        statistics: what Arm's neural accelerators count, for ``statistics()``: ``0`` or ``1``, the modes of
            VK_ARM_data_graph_neural_accelerator_statistics. Loading fails if the device cannot. Without: ``off``.

    Attributes:
        device: the device's name.
        engine: who runs the graphs.
        engine_reason: why, as a sentence.
        inputs, outputs: what ``run`` takes and gives.
        push_constants: what the program's compute shaders take besides its inputs; most take nothing.
        symbols: by name, the least and the most of each size that a run chooses by the shapes of its inputs.

    Raises:
        VgfError: the program is malformed or unsupported, or this machine lacks Vulkan or a part of it.
        TypeError: ``vgf`` is not bytes.
    """

    def __init__(
        self,
        vgf: bytes | bytearray | memoryview,
        device: str | int | None = None,
        engine: str | None = None,
        tune: str | None = None,
        sizes: str | Sequence[Sequence[int]] | None = None,
        statistics: str | int | None = None,
    ) -> None:
        if not isinstance(vgf, bytes | bytearray | memoryview):
            raise TypeError(f"a VGF's bytes are needed, not {type(vgf).__name__}; of a file: Path(...).read_bytes()")
        data = bytes(vgf)
        options = _options(device, engine, tune, sizes, statistics)
        self._opened = LIBRARY.arm_vgf_open(data, len(data), ctypes.byref(options))
        if not self._opened:
            raise VgfError(text(LIBRARY.arm_vgf_last_error()))
        self._counts = statistics is not None and str(statistics) != "off"
        info = self._info()
        self.device: str = text(info.device)
        self.engine: str = text(info.engine)
        self.engine_reason: str = text(info.engine_reason)
        self.inputs = [self._tensor(0, i) for i in range(info.inputs)]
        self.outputs = [self._tensor(1, i) for i in range(info.outputs)]
        self.push_constants = [self._push_constants(i) for i in range(info.push_constants)]
        self.symbols = dict(self._symbol(i) for i in range(info.symbols))
        self._calls: dict[Any, _Call] = {}

    @property
    def _handle(self) -> int:
        if not self._opened:
            raise VgfError("the session is closed")
        return int(self._opened)

    def _info(self) -> _Info:
        info = _Info()
        _checked(LIBRARY.arm_vgf_get_info(self._handle, ctypes.byref(info)))
        return info

    def _tensor(self, outputs: int, index: int) -> TensorInfo:
        tensor = _Tensor()
        _checked(LIBRARY.arm_vgf_get_tensor(self._handle, outputs, index, ctypes.byref(tensor)))
        sizes = tuple(text(size) for size in tensor.sizes[: tensor.rank])
        return TensorInfo(text(tensor.name), text(tensor.type), tuple(tensor.shape[: tensor.rank]), sizes)

    def _symbol(self, index: int) -> tuple[str, tuple[int, int]]:
        symbol = _Symbol()
        _checked(LIBRARY.arm_vgf_get_symbol(self._handle, index, ctypes.byref(symbol)))
        return text(symbol.name), (symbol.least, symbol.most)

    def _output_shape(self, inputs: ctypes.Array[_Argument], index: int) -> list[int]:
        shape, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_size_t()
        _checked(
            LIBRARY.arm_vgf_get_output_shape(
                self._handle, inputs, len(inputs), index, ctypes.byref(shape), ctypes.byref(rank)
            )
        )
        return list(shape[: rank.value])

    def _push_constants(self, index: int) -> PushConstants:
        found = _PushConstants()
        _checked(LIBRARY.arm_vgf_get_push_constants(self._handle, index, ctypes.byref(found)))
        return PushConstants(text(found.segment), found.offset, found.bytes)

    def memory(self) -> dict[str, int]:
        """Bytes of device memory.

        ``inputs``, ``outputs``, ``work`` (intermediate values), what sharing within the last ``saved``, and
        ``constants``, which only the compute engine tells.
        """
        info = self._info()
        return {
            "inputs": info.input_bytes,
            "outputs": info.output_bytes,
            "work": info.work_bytes,
            "saved": info.saved_bytes,
            "constants": info.constant_bytes,
        }

    def plan(self) -> list[dict[str, Any]]:
        """The compute engine's dispatches in their order; empty for the other engines.

        Each has ``kernel``, ``operators`` (what it fuses), ``shape`` (of its result), bytes ``read`` and ``written``,
        ``macs``, ``groups`` (workgroups) and ``variant``.
        """
        plan: list[dict[str, Any]] = json.loads(text(LIBRARY.arm_vgf_plan(self._handle)))
        return plan

    def run(self, inputs: Sequence[Array], push_constants: Sequence[bytes | Array] | None = None) -> list[Array]:
        """Runs the program once.

        Args:
            inputs: one array for each input, of its shape and type (bfloat16 as any 2-byte type; int64 for int32).
                Where sizes vary, of a shape that the symbols allow.
            push_constants: the bytes of each of ``self.push_constants``, or an array of them. Without: those of the
                run before.

        Returns:
            An array for each output, of the shape that it has with these inputs, and its type; bfloat16 as its bits,
            in int16.

        Raises:
            VgfError: an input or push constants do not fit or are missing, or the device failed.
        """
        if push_constants is not None:
            self._push(push_constants)
        whole = [plain(a) for a in inputs]
        kinds = tuple([(a.dtype, a.shape) for a in whole])
        call = self._calls.get(kinds) or self._call(kinds)
        outputs = [np.empty(shape, dtype) for shape, dtype in call.outputs]
        given, made = _filled(call.given, whole), _filled(call.made, outputs)
        _checked(LIBRARY.arm_vgf_run(self._handle, given, len(whole), made, len(outputs)))
        return outputs

    def _call(self, kinds: tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]) -> _Call:
        """What runs with inputs of these types and shapes have in common; that of the last ones is kept."""
        types = [
            "bfloat16" if i < len(self.inputs) and self._holds_bfloat16(i, dtype) else dtype.name
            for i, (dtype, _) in enumerate(kinds)
        ]
        given = _layout(types, [shape for _, shape in kinds])
        shapes = [self._output_shape(given, i) if self.symbols else list(t.shape) for i, t in enumerate(self.outputs)]
        dtypes = [np.dtype(_HELD_AS.get(t.dtype, t.dtype)) for t in self.outputs]
        made = _layout([t.dtype for t in self.outputs], shapes)
        call = _Call(given, made, list(zip(shapes, dtypes, strict=True)))
        self._calls = {kinds: call}
        return call

    def _push(self, values: Sequence[bytes | Array]) -> None:
        if len(values) != len(self.push_constants):
            raise VgfError(f"the program has {len(self.push_constants)} push constants, got {len(values)}")
        for index, value in enumerate(values):
            data = value if isinstance(value, bytes) else plain(value).tobytes()
            _checked(LIBRARY.arm_vgf_set_push_constants(self._handle, index, data, len(data)))

    def _holds_bfloat16(self, index: int, dtype: np.dtype[Any]) -> bool:
        return self.inputs[index].dtype == "bfloat16" and dtype.itemsize == 2

    def profile(self) -> list[Event]:
        """The events of the last run: copies, the whole run, and on the device each dispatch (compute) or segment.

        Runs note events only after the first call, which therefore returns none.
        """
        events = [_Event() for _ in range(LIBRARY.arm_vgf_profile(self._handle))]
        for index, event in enumerate(events):
            _checked(LIBRARY.arm_vgf_get_event(self._handle, index, ctypes.byref(event)))
        return [Event(text(e.name), bool(e.on_device), e.begin, e.end) for e in events]

    def statistics(self) -> list[Statistic]:
        """What the device's neural accelerator counted; empty unless ``statistics`` was given.

        Raises:
            VgfError: the device failed.
        """
        count = LIBRARY.arm_vgf_statistics(self._handle)
        if not count and self._counts:
            raise VgfError(text(LIBRARY.arm_vgf_last_error()))
        found = [_Statistic() for _ in range(count)]
        for index, statistic in enumerate(found):
            _checked(LIBRARY.arm_vgf_get_statistic(self._handle, index, ctypes.byref(statistic)))
        return [
            Statistic(text(s.segment), text(s.kind), ctypes.string_at(s.data, s.bytes) if s.bytes else b"")
            for s in found
        ]

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


def _layout(types: Sequence[str], shapes: Sequence[Sequence[int]]) -> ctypes.Array[_Argument]:
    """Arguments of these types and shapes, without data."""
    return (_Argument * len(types))(
        *(
            _Argument(None, t.encode(), (ctypes.c_int64 * len(shape))(*shape), len(shape))
            for t, shape in zip(types, shapes, strict=True)
        )
    )


def _filled(layout: ctypes.Array[_Argument], arrays: Sequence[Array]) -> ctypes.Array[_Argument]:
    """A copy with the data of arrays, valid as long as ``layout`` and they live: several threads may run a session."""
    table = type(layout).from_buffer_copy(layout)
    for index, array in enumerate(arrays):
        table[index].data = array.ctypes.data
    return table


def run(
    vgf: bytes | bytearray | memoryview,
    inputs: Sequence[Array],
    device: str | int | None = None,
    engine: str | None = None,
    push_constants: Sequence[bytes | Array] | None = None,
) -> list[Array]:
    """Loads a VGF, runs it once and unloads it; see ``Session``. Sizes that the file leaves open are the inputs'."""
    with Session(vgf, device, engine, sizes=[np.shape(array) for array in inputs]) as session:
        return session.run(inputs, push_constants)
