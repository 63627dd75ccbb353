"""VGF as a ``Target``: its checks, its rewrites, the model converter, and the runtime that runs payloads."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.health import Finding, distribution, tool
from arm_tosa_core.plugin.target import Span, Target
from arm_tosa_core.support.errors import ToolError

from .constraints import checks_for
from .rewrites import REWRITES
from .vgf_format import BACKEND_ID, check_vgf

if TYPE_CHECKING:
    import numpy as np

    from arm_tosa_core.exir.compile_spec import ArmCompileSpec
    from arm_tosa_core.tosa.specification import TosaSpecification


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


def vgf_target(
    tosa_spec: TosaSpecification,
    compiler_flags: Sequence[str],
    compile: Callable[[bytes, Mapping[str, str]], bytes],
    compile_spec: Callable[..., ArmCompileSpec],
) -> Target:
    """VGF with a specification; ``compile`` is the model converter with these flags."""
    return Target(
        "vgf",
        tosa_spec,
        checks=checks_for(compiler_flags),
        rewrites=REWRITES,
        compile=compile,
        run=_run if find_spec("arm_runtime") else None,
        suffix=".vgf",
        backend_id=BACKEND_ID,
        backend="arm_vgf.backend:VgfBackend",
        description="SPIR-V for Vulkan with VK_ARM_tensors and VK_ARM_data_graph",
        compile_spec=compile_spec,
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
