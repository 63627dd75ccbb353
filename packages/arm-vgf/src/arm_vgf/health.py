"""VGF's checks of this machine: lines of ``arm-tosa doctor``."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from importlib.util import find_spec
from pathlib import Path

from arm_tosa_core.plugin.health import TIMEOUT_S, Finding, KnownVersions, first_line, tool
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.support.external_tools import run_tool
from arm_tosa_core.support.install_advice import from_here

from .nx_estimator import ADVICE, VARIABLE, find_program

_RUNNING = "running VGF"
_DRIVERS = "apt install libvulkan1 mesa-vulkan-drivers, or your GPU's driver"
# Run in a process of its own: a driver that crashes must not take the report with it. Drivers print, too.
_FIND = """
import os
import sys
from arm_runtime.vgf import VgfError, find_device
try:
    device = find_device(engine=sys.argv[1] or None)
    tuning = f"; tuning {os.environ.get('ARM_VGF_TUNE') or 'on'}" if device.engine == "compute" else ""
    print(f"found: {device.engine} on {device.name}: {device.engine_reason}{tuning}")
except VgfError as error:
    print(f"failed: {error}")
"""


def _vulkan_loader() -> Finding:
    name = ctypes.util.find_library("vulkan") or "libvulkan.so.1"
    try:
        ctypes.CDLL(name)
    except OSError:
        return Finding("Vulkan loader", "missing", "", _RUNNING, _DRIVERS)
    return Finding("Vulkan loader", "ok", name, _RUNNING)


def _engine() -> Finding:
    """Who would run graphs here, and why."""
    return _device("VGF engine", "", _RUNNING, _DRIVERS)


def _emulation_layer() -> Finding:
    """Whether the Vulkan loader knows Arm's layer; it is no fault if that is not installed."""
    subject, needed_for = "Arm's emulation layer", "comparing with it"
    spec = find_spec("emulation_layer")
    if spec is None or not spec.submodule_search_locations:
        return Finding(subject, "ok", "not installed", needed_for)
    manifests = Path(spec.submodule_search_locations[0], "deploy", "share", "vulkan", "explicit_layer.d")
    finding = _device(subject, "layer", needed_for, f"set VK_LAYER_PATH={manifests}")
    return KnownVersions("ai-ml-emulation-layer-for-vulkan", "arm-runtime-cpp").judge(finding)


def _device(subject: str, engine: str, needed_for: str, fix: str) -> Finding:
    """The device that an engine takes; an empty one is the default."""
    if find_spec("arm_runtime") is None:
        return Finding(subject, "missing", "", needed_for, from_here("arm-runtime-cpp"))
    try:
        printed = run_tool("the VGF runtime", [sys.executable, "-c", _FIND, engine], timeout=TIMEOUT_S)
    except ToolError as error:
        return Finding(subject, "broken", first_line(error), needed_for, fix)
    verdicts = dict(line.split(": ", 1) for line in printed.splitlines() if line.startswith(("found: ", "failed: ")))
    if "found" in verdicts:
        return Finding(subject, "ok", verdicts["found"], needed_for)
    return Finding(subject, "broken", verdicts.get("failed", "it said nothing"), needed_for, fix)


def _estimator() -> Finding:
    """Where Arm's estimator is; it is no fault if that is not installed."""
    subject, needed_for = "Arm's estimator of the neural accelerator", "cycles and milliseconds of VGF"
    try:
        program = find_program()
    except UsageError as error:
        return Finding(subject, "broken", first_line(error), needed_for, f"set {VARIABLE} to the program, or unset it")
    return Finding(subject, "ok", f"not installed: {ADVICE}" if program is None else str(program), needed_for)


#: Tools for compiling.
COMPILE = (
    tool(
        "model-converter",
        KnownVersions("ai-ml-sdk-model-converter", "arm-vgf", "0.10 does not start where glibc is older than 2.38"),
        "compiling for VGF",
    ),
)

#: Tools for compiling and running.
HEALTH = (*COMPILE, _vulkan_loader, _engine, _emulation_layer, _estimator)
