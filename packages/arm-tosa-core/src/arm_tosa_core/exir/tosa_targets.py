"""The core's own targets: TOSA flatbuffers, run by Arm's reference model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..plugin.target import Compiler, Host, Target
from .compile_spec import TosaCompileSpec

if TYPE_CHECKING:
    import numpy as np


def tosa() -> Target:
    """TOSA 1.0 with both profiles."""
    return _target("tosa", "TOSA-1.0+INT+FP+int4+int16+bf16", "TOSA flatbuffer, integer and floating point")


def tosa_int() -> Target:
    """TOSA 1.0, integer only."""
    return _target("tosa-int", "TOSA-1.0+INT+int4+int16", "TOSA flatbuffer, integer only")


def tosa_fp() -> Target:
    """TOSA 1.0, floating point only."""
    return _target("tosa-fp", "TOSA-1.0+FP+bf16", "TOSA flatbuffer, floating point only")


def _target(name: str, spec: str, description: str) -> Target:
    return Target(
        name=name,
        spec=spec,
        description=description,
        compiler=Compiler(compile_spec=partial(TosaCompileSpec, tosa_spec=spec)),
        host=Host(run=_run),
    )


def _run(tosa: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    from ..tosa import reference_model as reference

    return reference.run(tosa, inputs)
