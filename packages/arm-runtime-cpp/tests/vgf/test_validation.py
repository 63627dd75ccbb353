"""Khronos' validation layer has nothing to say. It lies below Arm's emulation layer, where it knows every call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType

MANIFESTS = Path("/usr/share/vulkan/explicit_layer.d")
# Loaders put layers of this variable into the order in which they find their manifests: this runtime's own first.
LAYERS = (
    "VK_LAYER_ML_Graph_Emulation",
    "VK_LAYER_ARM_RUNTIME_above_tensors",
    "VK_LAYER_ML_Tensor_Emulation",
    "VK_LAYER_ARM_RUNTIME_below_tensors",
    "VK_LAYER_KHRONOS_validation",
)
PROGRAMS = "every_type or share or shaders or profile or uniform or unsigned or threads"


def played(folder: Path, settings: str) -> str:
    """What the tests of sessions print, with the validation layer's messages; they pass."""
    (folder / "vk_layer_settings.txt").write_text(settings)
    variables = {
        **os.environ,
        "VK_LAYER_PATH": str(MANIFESTS),
        "VK_INSTANCE_LAYERS": os.pathsep.join(LAYERS),
        "VK_LAYER_SETTINGS_PATH": str(folder),
        "ARM_VGF_CACHE": str(folder),
    }
    file = str(Path(__file__).with_name("test_session.py"))
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "-p", "no:cacheprovider", file, "-k", PROGRAMS]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_validation_is_silent(vgf: Any, tmp_path: Path) -> None:
    if not (MANIFESTS / "VkLayer_khronos_validation.json").is_file():
        pytest.skip("no validation layer: apt-get install vulkan-validationlayers")
    with vgf.Session(graph_vgf("ABS", DType.INT32, 4)) as session:
        if not session.device.endswith("(emulated)"):
            pytest.skip("Debian's validation layer does not know the extensions that this device has itself")
    flags = "khronos_validation.report_flags = error,warn,perf"
    # It is there: asked for more than the specification does, it has something to say of what the driver is told.
    more = "khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT"
    assert "UNASSIGNED-BestPractices" in played(tmp_path, f"{flags}\n{more}\n")
    said = played(tmp_path, f"{flags}\n")
    assert "Validation" not in said and "VUID" not in said, said
