"""The factories behind the ``arm_tosa.targets`` entry points: one for each core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.target import Compiler, Host, Target

from .cores import BACKEND_ID, CORES
from .firmware.processor import SPEC, has_kernel

if TYPE_CHECKING:
    import numpy as np


def cortex_m4() -> Target:
    return _target("cortex-m4")


def cortex_m7() -> Target:
    return _target("cortex-m7")


def cortex_m33() -> Target:
    return _target("cortex-m33")


def cortex_m55() -> Target:
    return _target("cortex-m55")


def cortex_m85() -> Target:
    return _target("cortex-m85")


def _target(name: str) -> Target:
    """All cores compute the same, so that they have the same checks and payloads."""
    core = CORES[name]
    return Target(
        name=name,
        spec=SPEC,
        description=f"Cortex-{name.removeprefix('cortex-').upper()} ({core.vectors}) without an NPU, in C",
        checks=(has_kernel,),
        compiler=Compiler(backend_id=BACKEND_ID),
        host=Host(run=_run, firmware="arm_cortex_m.firmware:FIRMWARE"),
    )


def _run(tosa: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """On the TOSA reference model, with which the kernels agree bit for bit."""
    from arm_tosa_core.tosa import reference_model

    return reference_model.run(tosa, inputs)
