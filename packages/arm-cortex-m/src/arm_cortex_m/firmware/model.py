"""A model as firmware runs it: steps on the NPU and on the processor, and inputs and outputs that are integers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import Op

from ..kernels import Call
from .kernels.kernel import Kernel

#: Bytes: the alignment that the NPU requires of every memory.
ALIGNMENT = 16
#: Names whose ``NAME_run`` and ``NAME_init`` are taken: by firmware's interface to the NPU, and by Arm's driver.
_TAKEN = ("ethosu", "npu")


@dataclass(frozen=True)
class Port:
    """An input or output: integers of ``dtype``, row-major.

    Args:
        program_dtype: type of the program's numbers in their place: ``"float32"`` if there is a scale, ``"int64"``
            if firmware narrows it, or ``dtype`` itself.
        scale, zero_point: a real number is ``scale * (integer - zero_point)``; scale None: the integers have no scale.
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
        inside, at: it is a part of another value, from that byte of it; None: it has memory of its own.
    """

    dtype: str
    size: int
    data: np.ndarray[Any, Any] | None = None
    inside: Value | None = None
    at: int = 0

    @property
    def root(self) -> Value:
        """The value with memory of its own."""
        return self if self.inside is None else self.inside.root

    @property
    def offset(self) -> int:
        """Its first byte in ``root``."""
        return 0 if self.inside is None else self.inside.offset + self.at


@dataclass(frozen=True, eq=False)
class Job:
    """A step on the NPU.

    Args:
        commands, weights: as Vela wrote them.
        scratch: bytes of the NPU's memory.
        fast_scratch: bytes of the second memory that the NPU uses, in memory modes that have one.
        inputs, outputs: values copied to the scratch memory before and from it after, and their offsets there in bytes.
        weights_in, scratch_in: the memories that Vela planned for, such as ``OffChipFlash``; empty: it was not told.
    """

    commands: bytes
    weights: bytes
    scratch: int
    fast_scratch: int
    inputs: tuple[tuple[Value, int], ...]
    outputs: tuple[tuple[Value, int], ...]
    weights_in: str = ""
    scratch_in: str = ""

    @property
    def reads(self) -> list[Value]:
        """Its operands: values of earlier steps."""
        return [value for value, _ in self.inputs]

    @property
    def makes(self) -> list[Value]:
        """Its results: values for later steps."""
        return [value for value, _ in self.outputs]


@dataclass(frozen=True, eq=False)
class Operator:
    """A step on the processor.

    Args:
        kernel: its C source.
        inputs: the operands that the kernel reads, by their positions.
        parts: the operators that it stands for, if these are several.
    """

    op: Op
    kernel: Kernel
    inputs: Mapping[int, Value]
    output: Value
    parts: tuple[Op, ...] = ()

    @property
    def ops(self) -> tuple[Op, ...]:
        """The operators that it computes."""
        return self.parts or (self.op,)

    @property
    def reads(self) -> list[Value]:
        """Its operands: values of earlier steps, and constants."""
        return list(self.inputs.values())

    @property
    def makes(self) -> list[Value]:
        """Its results: values for later steps."""
        return [self.output]


@dataclass(frozen=True, eq=False)
class Called:
    """A step on the processor by a function of :mod:`arm_cortex_m.kernels`.

    Args:
        inputs: the operands, in the order of the function's parameters.
        constants: the fields of its parameters that are arrays.
    """

    call: Call
    inputs: tuple[Value, ...]
    constants: Mapping[str, Value]
    output: Value

    @property
    def ops(self) -> tuple[Op, ...]:
        """The operators that it computes."""
        return self.call.ops

    @property
    def scratch(self) -> int:
        """Bytes that it needs while it runs."""
        return self.call.scratch

    @property
    def reads(self) -> list[Value]:
        """Its operands: values of earlier steps, and constants."""
        return [*self.inputs, *self.constants.values()]

    @property
    def makes(self) -> list[Value]:
        """Its results: values for later steps."""
        return [self.output]


Step = Job | Operator | Called


def with_values(step: Step, of: Callable[[Value], Value]) -> Step:
    """A step that reads and makes other values."""
    if isinstance(step, Job):
        inputs, outputs = (tuple((of(value), at) for value, at in side) for side in (step.inputs, step.outputs))
        return replace(step, inputs=inputs, outputs=outputs)
    if isinstance(step, Operator):
        operands = {position: of(value) for position, value in step.inputs.items()}
        return replace(step, inputs=operands, output=of(step.output))
    return replace(step, inputs=tuple(map(of, step.inputs)), output=of(step.output))


@dataclass(frozen=True)
class Loop:
    """Steps that are the same, time after time, but for places and numbers.

    Args:
        first: the first of them, from 0.
        period: how many there are each time.
        times: how often they run.
    """

    first: int
    period: int
    times: int

    @property
    def end(self) -> int:
        """The step behind."""
        return self.first + self.period * self.times

    def each_time(self, position: int) -> range:
        """The steps that stand at a position of the period."""
        return range(self.first + position, self.end, self.period)


@dataclass(frozen=True)
class ReferenceStep:
    """A delegate: its TOSA flatbuffer, and the program's values that it reads and makes, by number."""

    tosa: bytes
    reads: tuple[int, ...]
    makes: tuple[int, ...]


@dataclass(frozen=True)
class Reference:
    """The TOSA graphs of a model.

    Args:
        steps: the delegates, in order.
        taken: numbers of the values of each input.
        given: number of the value of each output.
    """

    steps: tuple[ReferenceStep, ...]
    taken: tuple[tuple[int, ...], ...]
    given: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """A program in firmware.

    Args:
        name: a C identifier in lower case.
        target: the accelerator.
        taken, given: the values of inputs and outputs.
        reference: the same as TOSA graphs, if they are known.
        loops: the steps that C writes once and runs often, in order.
    """

    name: str
    target: str
    steps: tuple[Step, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    taken: tuple[Value, ...]
    given: tuple[Value, ...]
    reference: Reference | None = None
    loops: tuple[Loop, ...] = ()

    @property
    def jobs(self) -> list[Job]:
        """The steps on the NPU."""
        return [step for step in self.steps if isinstance(step, Job)]

    @property
    def operators(self) -> list[Operator | Called]:
        """The steps on the processor."""
        return [step for step in self.steps if not isinstance(step, Job)]

    @property
    def calls(self) -> list[Called]:
        """Those of them by functions of :mod:`arm_cortex_m.kernels`."""
        return [step for step in self.steps if isinstance(step, Called)]

    @property
    def constants(self) -> list[Value]:
        """Values that steps on the processor read and no step makes, and constant outputs; each once."""
        values = [value for step in self.steps for value in step.reads] + list(self.given)
        return [value for value in dict.fromkeys(values) if value.data is not None]

    @property
    def constant_bytes(self) -> dict[str, int]:
        """Bytes of all that is constant, by kind."""
        return {
            "commands": sum(len(job.commands) for job in self.jobs),
            "weights": sum(len(job.weights) for job in self.jobs),
            "constants": sum(value.size for value in self.constants),
        }


def identifier(name: str) -> str:
    """A model's name in C: ``"MobileNet-v2"`` is ``mobilenet_v2``, ``"2nd"`` is ``model_2nd``.

    All names in C are this one and another word, such as ``int_run``: so it may be a keyword, or a function of C.
    """
    word = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    return word if word and not word[0].isdigit() and word not in _TAKEN else f"model_{word}".rstrip("_")
