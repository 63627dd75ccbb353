"""A step of a program on the processor: a call of a C function that computes one operator or several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_tosa_core.tosa.ir import Op, Tensor


@dataclass(frozen=True, eq=False)
class Call:
    """A call ``function(&parameters, output, inputs[0], inputs[1], ..., scratch)``; without scratch if that is 0.

    The parameters are a constant of the type ``struct FUNCTION``, and each field is initialized by its name::

        static const struct tosa_conv2d_s8 step1 = {.batches = 1, .rescale.shifts = model_constant3};

    Args:
        ops: the operators that it computes, in order. What they hand on to one another is not made.
        source: the C source of the function, in ``FILES``; the header has the same name.
        fields: by name, as C writes it in an initializer, numbers, and arrays of int8, int16 or int32 that are
            constants of the model.
        inputs: the operands that are pointers; those that are constant are among the model's constants.
        scratch: bytes of memory that the function uses while it runs, from an address that is a multiple of 8.
    """

    ops: tuple[Op, ...]
    function: str
    source: str
    fields: Mapping[str, int | np.ndarray[Any, Any]]
    inputs: tuple[Tensor, ...]
    scratch: int = 0

    @property
    def output(self) -> Tensor:
        """The result."""
        return self.ops[-1].output
