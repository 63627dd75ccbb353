"""Processes of their own: a process keeps the device that it chose."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def child(code: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs code that has ``Session``, with these variables and none of the user's that concern Vulkan or VGF."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(("ARM_VGF", "VK_", "VIRTUAL_ENV"))}
    command = [sys.executable, "-c", f"from arm_runtime.vgf import Session\n{code}"]
    return subprocess.run(command, env={**given, **env}, capture_output=True, text=True, timeout=300, check=False)


def emulation_layer() -> dict[str, str]:
    """The variable by which C++ programs, which lie in no Python environment, find Arm's emulation layer."""
    spec = find_spec("emulation_layer")
    assert spec is not None and spec.origin is not None, "not installed: the fixture `layer` skips then"
    return {"ARM_VGF_LAYERS": str(Path(spec.origin).parent / "deploy")}
