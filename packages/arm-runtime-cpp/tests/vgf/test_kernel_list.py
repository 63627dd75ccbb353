"""``ARM_RUNTIME_VGF_KERNELS``: a library with the kernels of some VGFs alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_compute import network
from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "build" / "tests-kernels"
CMAKE = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(CMAKE is None, reason="nothing to build with: pip install cmake")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=900, check=False)


def configure(kernels: str) -> subprocess.CompletedProcess[str]:
    command = [str(CMAKE), "--preset", "host", "-B", str(FOLDER), "-S", str(PROJECT), "-DARM_RUNTIME_TESTS=OFF"]
    command += [f"-DPython_EXECUTABLE={sys.executable}", f"-DARM_RUNTIME_VGF_KERNELS={kernels}"]
    return run(*command)


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
