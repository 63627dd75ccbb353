"""VGF as a target: the factory behind the ``arm_tosa.targets`` entry point ``vgf``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.target import Target

from .compile_spec import VgfCompileSpec
from .constraints import checks_for
from .extract import BACKEND_ID
from .rewrites import REWRITES
from .vgf_format import check_vgf

if TYPE_CHECKING:
    import numpy as np


def make_target(compile_spec: VgfCompileSpec | None = None) -> Target:
    """VGF as ``compile_spec`` configures it; by default with both profiles and no flags."""
    spec = compile_spec or VgfCompileSpec()
    return Target(
        "vgf",
        spec.tosa_spec,
        checks=checks_for(spec.compiler_flags),
        rewrites=REWRITES,
        compile=spec._compile,
        run=_run if find_spec("arm_runtime") else None,
        suffix=".vgf",
        backend_id=BACKEND_ID,
        description="SPIR-V for Vulkan with VK_ARM_tensors and VK_ARM_data_graph",
        compile_spec=VgfCompileSpec,
        extract=_extract,
    )


def _run(vgf: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    from importlib import import_module

    outputs: list[np.ndarray[Any, Any]] = import_module("arm_runtime.vgf").run(vgf, inputs)
    return outputs


def _extract(payload: bytes) -> tuple[str, bytes]:
    check_vgf(payload)
    return ".vgf", payload
