"""Khronos' validation layer has nothing to say of the compute engine, nor below Arm's emulation layer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from vgf_files import Load
from vgf_process import manifests

MANIFESTS = Path("/usr/share/vulkan/explicit_layer.d")
LAYERS = ("VK_LAYER_ML_Graph_Emulation", "VK_LAYER_ML_Tensor_Emulation", "VK_LAYER_KHRONOS_validation")
#: An engine, a test file, and which of its tests.
PROGRAMS = {
    "compute": ("compute", "test_session.py", "every_type or narrow or bfloat16 or profile or threads"),
    "layer": ("layer", "test_shaders.py", "share or between or uniform or unsigned"),
    "images, compute": ("compute", "test_images.py", "compute and (share or filter or address or rounding or edge)"),
    "images, layer": ("layer", "test_images.py", "layer and (share or rounding)"),
    "push constants": ("compute", "test_push_constants.py", "compute and (hold or segments)"),
}
# It is there: asked for more than the specification does, it has something to say of what the driver is told.
BEST_PRACTICES = "khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT"


def emulation_above_validation(folder: Path) -> dict[str, str]:
    """Loaders put the layers of VK_INSTANCE_LAYERS into the order in which they find their manifests: each of the
    emulation layer's gets a folder of its own."""
    emulation = manifests()
    assert emulation is not None
    folders = [folder / "graph", folder / "tensor", MANIFESTS]
    for alone, name in zip(folders, ("VkLayer_Graph.json", "VkLayer_Tensor.json"), strict=False):
        alone.mkdir(exist_ok=True)
        shutil.copy(emulation / name, alone)
    return {
        "VK_LAYER_PATH": os.pathsep.join(map(str, folders)),
        "VK_INSTANCE_LAYERS": os.pathsep.join(LAYERS),
        "LD_LIBRARY_PATH": str(emulation.parents[2] / "lib"),
    }


def played(program: str, folder: Path, settings: str = "") -> str:
    """What tests print on their engine, with the validation layer's messages; they pass."""
    engine, file, tests = PROGRAMS[program]
    text = f"khronos_validation.report_flags = error,warn,perf\n{settings}\n"
    (folder / "vk_layer_settings.txt").write_text(text)
    variables = {
        **os.environ,
        "VK_LAYER_PATH": str(MANIFESTS),
        "VK_INSTANCE_LAYERS": LAYERS[-1],
        "VK_LAYER_SETTINGS_PATH": str(folder),
        "ARM_VGF_CACHE": str(folder),
        **(emulation_above_validation(folder) if engine == "layer" else {}),
    }
    path = str(Path(__file__).with_name(file))
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "-p", "no:cacheprovider", path, "-k", tests]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_validation_is_silent(layer: Load, program: str, tmp_path: Path) -> None:
    if not (MANIFESTS / "VkLayer_khronos_validation.json").is_file():
        pytest.skip("no validation layer: apt-get install vulkan-validationlayers")
    assert "UNASSIGNED-BestPractices" in played(program, tmp_path, BEST_PRACTICES)
    said = played(program, tmp_path)
    assert "Validation" not in said and "VUID" not in said, said
