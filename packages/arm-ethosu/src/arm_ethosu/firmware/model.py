"""A program as firmware runs it: one job of the NPU, and inputs and outputs that are integers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from arm_tosa_core.exir.pte import Delegate, read
from arm_tosa_core.exir.pte_steps import Call, Method, method
from arm_tosa_core.support.errors import UsageError

from ..payload import unpack
from ..vela_ini import VelaIni, locate

#: Bytes: what the NPU requires of every memory that it is given.
ALIGNMENT = 16
#: Words that cannot name a type and a file of a C library: keywords of C11 and C++17, and names that firmware has.
_TAKEN = (
    "alignas alignof and asm auto bool break case catch char class const constexpr continue decltype "
    "default delete do double else enum explicit export extern false final float for friend goto if "
    "import inline int long main module mutable namespace new noexcept not npu nullptr operator or "
    "private protected public register restrict return short signed sizeof static struct switch template "
    "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
    "while xor board arena model_memory model_status stdint stddef string"
)

_QUANTIZE = "quantized_decomposed::quantize_per_tensor.out"
_DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor.out"
_SCRATCH = 1


@dataclass(frozen=True)
class Port:
    """An input or output: integers of ``dtype``, row-major, at ``offset`` in the arena.

    Args:
        scale, zero_point: a real number is ``scale * (integer - zero_point)``; scale None: integers are all that it is.
        bounds: the least and the greatest integer.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    offset: int
    scale: float | None = None
    zero_point: int = 0
    bounds: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Model:
    """What firmware holds of one program.

    Args:
        name: a C identifier in lower case.
        target: the accelerator.
        commands, weights: the NPU's, as Vela wrote them.
        scratch: bytes of the arena.
        fast_scratch: bytes of the second memory that the NPU uses, in memory modes that have one.
    """

    name: str
    target: str
    commands: bytes
    weights: bytes
    scratch: int
    fast_scratch: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


@dataclass(frozen=True)
class _Quantization:
    scale: float
    zero_point: int
    bounds: tuple[int, int]


def identifier(name: str) -> str:
    """A C identifier of a model's file name: ``"MobileNet-v2"`` is ``mobilenet_v2``, ``"int"`` is ``model_int``."""
    word = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    return word if word and not word[0].isdigit() and word not in _TAKEN.split() else f"model_{word}".rstrip("_")


def model_of(name: str, pte: bytes, target: str) -> Model:
    """Reads a program that is one delegate, and nothing else but quantization at its edges.

    Raises:
        UsageError: it is another kind of program; lists what firmware cannot run.
    """
    program = method(pte)
    call = _only_delegate(name, program)
    delegate = [each for each in read(pte).delegates if each.method == "forward"][call.delegate]
    arrays = unpack(delegate.payload)
    quantized = {a[0]: (a[-1], _quantization(program, a)) for a in _arguments(program, _QUANTIZE)}
    dequantized = {a[-1]: (a[0], _quantization(program, a)) for a in _arguments(program, _DEQUANTIZE)}
    count = len(arrays["input_shape"])
    taken, given = call.arguments[:count], call.arguments[count:]

    def port(
        kind: str, number: int, value: int, places: Sequence[int], table: dict[int, tuple[int, _Quantization]]
    ) -> Port:
        inner, how = table.get(value, (value, None))
        if inner not in places:
            raise UsageError(
                f"{name}: {kind} {number} does not pass through the delegate; firmware has no code for that"
            )
        at = places.index(inner)
        if int(arrays[f"{kind}_region"][at]) != _SCRATCH:
            raise UsageError(f"{name}: {kind} {number} is not in the scratch memory (Vela's region {_SCRATCH})")
        tensor = program.tensor(inner)
        if tensor.order != tuple(range(len(tensor.order))):
            raise UsageError(f"{name}: {kind} {number} is not row-major; compile it with --memory-format contiguous")
        offset = int(arrays[f"{kind}_offset"][at])
        if how is None:
            return Port(f"{kind}{number}", tensor.shape, tensor.dtype, offset)
        return Port(f"{kind}{number}", tensor.shape, tensor.dtype, offset, how.scale, how.zero_point, how.bounds)

    return Model(
        name=name,
        target=target,
        commands=arrays["cmd_data"].tobytes(),
        weights=arrays["weight_data"].tobytes(),
        scratch=int(arrays["scratch_size"]),
        fast_scratch=_fast_scratch(name, delegate),
        inputs=tuple(port("input", i, value, taken, quantized) for i, value in enumerate(program.inputs)),
        outputs=tuple(port("output", i, value, given, dequantized) for i, value in enumerate(program.outputs)),
    )


def _only_delegate(name: str, program: Method) -> Call:
    delegates = [call for call in program.calls if not call.operator]
    others = sorted({call.operator for call in program.calls} - {"", _QUANTIZE, _DEQUANTIZE})
    if others:
        raise UsageError(
            f"{name}: firmware runs what is on the NPU, and this program leaves to the processor: {', '.join(others)}. "
            "`arm-tosa explain` says why, operator by operator"
        )
    if len(delegates) != 1:
        raise UsageError(f"{name}: firmware runs programs that are one delegate; this one has {len(delegates)}")
    return delegates[0]


def _fast_scratch(name: str, delegate: Delegate) -> int:
    """Bytes that the memory mode lets the NPU use as a cache of its arena; most modes have none."""
    options = json.loads(dict(delegate.compile_specs).get("options", b"{}"))
    mode, ini = options.get("memory_mode"), VelaIni(locate(options.get("config_ini")))
    if mode is None or not ini.has_cache(mode):
        return 0
    size = ini.memory_value(mode, "arena_cache_size")
    if size is None:
        raise UsageError(
            f"{name}: the memory mode {mode!r} does not say how large the NPU's fast memory is; compile it with one "
            "that does (Dedicated_Sram_384KB, or arena_cache_size= in a configuration file of yours)"
        )
    return int(size)


def _arguments(program: Method, operator: str) -> list[tuple[int, ...]]:
    return [call.arguments for call in program.calls if call.operator == operator]


def _quantization(program: Method, arguments: tuple[int, ...]) -> _Quantization:
    """Of ``quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, ...)``, or the opposite."""
    scale, zero_point, least, most = (program.values[number] for number in arguments[1:5])
    return _Quantization(float(scale), int(zero_point), (int(least), int(most)))
