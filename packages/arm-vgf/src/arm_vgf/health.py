"""What VGF needs of this machine: lines of ``arm-tosa doctor``."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from importlib.util import find_spec

from arm_tosa_core.plugin.health import TIMEOUT_S, Finding, first_line, tool
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import run_tool

_RUNNING = "running VGF"
_DRIVERS = "apt install libvulkan1 mesa-vulkan-drivers, or your GPU's driver"
# Run in a process of its own: a driver that crashes must not take the report with it. Drivers print, too.
_FIND = """
from arm_runtime.vgf import VgfError, find_device
try:
    device = find_device()
    print(f"found: {device.engine} on {device.name}: {device.engine_reason}")
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
    what = "VGF engine"
    if find_spec("arm_runtime") is None:
        return Finding(what, "missing", "", _RUNNING, "pip install arm-runtime-cpp")
    try:
        said = run_tool("the VGF runtime", [sys.executable, "-c", _FIND], timeout=TIMEOUT_S)
    except ToolError as error:
        return Finding(what, "broken", first_line(error), _RUNNING, _DRIVERS)
    verdicts = dict(line.split(": ", 1) for line in said.splitlines() if line.startswith(("found: ", "failed: ")))
    if "found" in verdicts:
        return Finding(what, "ok", verdicts["found"], _RUNNING)
    return Finding(what, "broken", verdicts.get("failed", "it said nothing"), _RUNNING, _DRIVERS)


HEALTH = (
    tool("model-converter", "ai-ml-sdk-model-converter", "compiling for VGF"),
    _vulkan_loader,
    _engine,
)
