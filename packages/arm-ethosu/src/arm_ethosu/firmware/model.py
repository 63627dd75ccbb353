"""A model as firmware runs it: steps on the NPU and on the processor, and inputs and outputs that are integers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import Op

#: Bytes: what the NPU requires of every memory that it is given.
ALIGNMENT = 16
#: Words that cannot name a type and a file of a C library: keywords of C11 and C++17, and names that firmware has.
_TAKEN = (
    "alignas alignof and asm auto bool break case catch char class const constexpr continue decltype "
    "default delete do double else enum explicit export extern false final float for friend goto if "
    "import inline int long main module mutable namespace new noexcept not npu nullptr operator or "
    "private protected public register restrict return short signed sizeof static struct switch template "
    "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
    "while xor board arena model_memory model_status stdint stddef string tosa_math"
)


@dataclass(frozen=True)
class Port:
    """An input or output: integers of ``dtype``, row-major.

    Args:
        program_dtype: what the program takes or gives in their place: ``"float32"`` if there is a scale, ``"int64"``
            if firmware narrows it, or ``dtype`` itself.
        scale, zero_point: a real number is ``scale * (integer - zero_point)``; scale None: integers are all that it is.
        bounds: the least and the greatest integer.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    program_dtype: str
    scale: float | None = None
    zero_point: int = 0
    bounds: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, eq=False)
class Value:
    """Integers that steps read or write.

    Args:
        dtype: C's type of an element.
        size: bytes.
        data: of a constant.
    """

    dtype: str
    size: int
    data: np.ndarray[Any, Any] | None = None


@dataclass(frozen=True)
class Job:
    """A step on the NPU.

    Args:
        commands, weights: as Vela wrote them.
        scratch: bytes of the NPU's memory.
        fast_scratch: bytes of the second memory that the NPU uses, in memory modes that have one.
        inputs, outputs: what is copied to the scratch memory before and from it after, and its offset there in bytes.
    """

    commands: bytes
    weights: bytes
    scratch: int
    fast_scratch: int
    inputs: tuple[tuple[Value, int], ...]
    outputs: tuple[tuple[Value, int], ...]


@dataclass(frozen=True)
class Operator:
    """A step on the processor: a TOSA operator, its operands and its result."""

    op: Op
    inputs: tuple[Value, ...]
    output: Value


@dataclass(frozen=True)
class Model:
    """What firmware holds of one program.

    Args:
        name: a C identifier in lower case.
        target: the accelerator.
        inputs, outputs: what its caller gives and gets.
        taken, given: the values that they are.
    """

    name: str
    target: str
    steps: tuple[Job | Operator, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    taken: tuple[Value, ...]
    given: tuple[Value, ...]

    @property
    def jobs(self) -> list[Job]:
        """The steps on the NPU."""
        return [step for step in self.steps if isinstance(step, Job)]

    @property
    def operators(self) -> list[Operator]:
        """The steps on the processor."""
        return [step for step in self.steps if isinstance(step, Operator)]


def identifier(name: str) -> str:
    """A C identifier of a model's file name: ``"MobileNet-v2"`` is ``mobilenet_v2``, ``"int"`` is ``model_int``."""
    word = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    return word if word and not word[0].isdigit() and word not in _TAKEN.split() else f"model_{word}".rstrip("_")
