"""Processes of their own: a process keeps the device that it chose."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def child(code: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Runs code that has ``Session``, with these variables and none of the user's that concern Vulkan or VGF; the
    Vulkan loader finds Arm's emulation layer."""
    given = {k: v for k, v in os.environ.items() if not k.startswith(("ARM_VGF", "VK_", "VIRTUAL_ENV"))}
    given["VK_LAYER_PATH"] = str(manifests() or "")
    command = [sys.executable, "-c", f"from arm_runtime.vgf import Session\n{code}"]
    return subprocess.run(command, env={**given, **env}, capture_output=True, text=True, timeout=300, check=False)


def manifests() -> Path | None:
    """The folder by which the Vulkan loader finds Arm's emulation layer, if that is installed."""
    spec = find_spec("emulation_layer")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "deploy" / "share" / "vulkan" / "explicit_layer.d"
