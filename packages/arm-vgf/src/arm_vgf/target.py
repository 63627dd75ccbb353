"""VGF as a target: the factory behind the ``arm_tosa.targets`` entry point ``vgf``."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.health import Finding, distribution, tool
from arm_tosa_core.plugin.target import Span, Target
from arm_tosa_core.support.errors import ToolError

from .compile_spec import VgfCompileSpec
from .constraints import checks_for
from .extract import BACKEND_ID
from .rewrites import REWRITES
from .vgf_format import check_vgf

if TYPE_CHECKING:
    import numpy as np


def _vulkan_loader() -> Finding:
    needed_for, fix = "running VGF", "apt install libvulkan1 mesa-vulkan-drivers, or your GPU's driver"
    name = ctypes.util.find_library("vulkan") or "libvulkan.so.1"
    try:
        ctypes.CDLL(name)
    except OSError:
        return Finding("Vulkan loader", "missing", "", needed_for, fix)
    return Finding("Vulkan loader", "ok", name, needed_for)


HEALTH = (
    tool("model-converter", "ai-ml-sdk-model-converter", "compiling for VGF"),
    _vulkan_loader,
    distribution("ai-ml-emulation-layer-for-vulkan", "running VGF without a driver that has Arm's extensions"),
)


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
        profile=_profile,
        health=HEALTH,
    )


def _run(vgf: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    return _profile(vgf, inputs)[0]


def _profile(vgf: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> tuple[list[np.ndarray[Any, Any]], Sequence[Span]]:
    from importlib import import_module

    try:
        with import_module("arm_runtime.vgf").Session(vgf) as session:
            session.profile()  # from here on, runs are noted
            outputs: list[np.ndarray[Any, Any]] = session.run(inputs)
            return outputs, [(event.begin, event.end, event.name) for event in session.profile()]
    except RuntimeError as error:
        raise ToolError("the VGF runtime", f"failed: {error}") from error


def _extract(payload: bytes) -> tuple[str, bytes]:
    check_vgf(payload)
    return ".vgf", payload
