"""Cortex-M's checks of this machine: lines of ``arm-tosa doctor``."""

from __future__ import annotations

import shutil

from arm_tosa_core.plugin.health import TIMEOUT_S, Finding, HealthCheck, first_line
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import run_tool

from .firmware.on_host import COMPILER, FIX


def _program(name: str, needed_for: str, fix: str) -> HealthCheck:
    def check() -> Finding:
        path = shutil.which(name)
        if path is None:
            return Finding(name, "missing", "", needed_for, fix)
        try:
            said = run_tool(name, [path, "--version"], timeout=TIMEOUT_S)
        except ToolError as error:
            return Finding(name, "broken", first_line(error), needed_for, fix)
        return Finding(name, "ok", f"{said.splitlines()[0]}, {path}", needed_for)

    return check


HEALTH = (
    _program(COMPILER, "running Cortex-M programs on this machine", FIX),
    _program("cmake", "building firmware", "apt-get install cmake"),
    _program("arm-none-eabi-gcc", "building firmware for a Cortex-M", "apt-get install gcc-arm-none-eabi"),
    _program("qemu-system-arm", "running firmware in an emulator", "apt-get install qemu-system-arm"),
)
