"""``libarm_vgf``, which needs Vulkan's loader alone: as a library, in a CMake project, by pkg-config and in Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType

CMAKE = """
cmake_minimum_required(VERSION 3.28)
project(consumer C CXX)
find_package(arm_vgf 0.1 REQUIRED)
add_executable(c_shared main.c)
target_link_libraries(c_shared PRIVATE arm_vgf::arm_vgf)
add_executable(cpp_shared main.cpp)
target_link_libraries(cpp_shared PRIVATE arm_vgf::arm_vgf)
add_executable(cpp_static main.cpp)
target_link_libraries(cpp_static PRIVATE arm_vgf::arm_vgf_static)
"""
C = """
#include <arm_runtime/vgf_c.h>
#include <stdio.h>
int main(int count, char** words) {
    static char data[1 << 20];
    FILE* file = fopen(words[count - 1], "rb");
    arm_vgf_session* session = arm_vgf_open(data, fread(data, 1, sizeof(data), file), NULL);
    arm_vgf_tensor in = {.size = sizeof(in)};
    if (session == NULL || arm_vgf_get_tensor(session, 0, 0, &in)) return puts(arm_vgf_last_error());
    int x[] = {-1, 2, -3, 4}, y[4];
    arm_vgf_argument input = {sizeof(input), x, in.type, in.shape, in.rank};
    arm_vgf_argument output = {sizeof(output), y, in.type, in.shape, in.rank};
    if (arm_vgf_run(session, &input, 1, &output, 1)) return puts(arm_vgf_last_error());
    printf("%d %d %d %d\\n", y[0], y[1], y[2], y[3]);
    arm_vgf_close(session);
    return 0;
}
"""
CPP = """
#include <arm_runtime/vgf.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>
int main(int count, char** words) {
    namespace vgf = arm_runtime::vgf;
    std::ifstream file(words[count - 1], std::ios::binary);
    const std::vector<char> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    try {
        vgf::Session(data.data(), data.size() - 1, vgf::options_from_environment());
    } catch (const vgf::Error&) {
        std::puts("an Error");
    }
    vgf::Session session(data.data(), data.size(), vgf::options_from_environment());
    int x[] = {-1, 2, -3, 4}, y[4];
    const vgf::TensorInfo& in = session.inputs()[0];
    const vgf::Argument input{x, in.type, in.shape.data(), in.shape.size()};
    const vgf::Argument output{y, in.type, in.shape.data(), in.shape.size()};
    session.run(&input, 1, &output, 1);
    std::printf("%d %d %d %d\\n", y[0], y[1], y[2], y[3]);
}
"""
# Python as on a machine that has numpy, and neither ExecuTorch nor PyTorch.
WITHOUT = """
import sys
import importlib.machinery as machinery
class Missing(machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        missing = name.split(".")[0] in ("executorch", "torch")
        return None if missing else super().find_spec(name, path, target)
sys.meta_path[:] = [Missing if finder is machinery.PathFinder else finder for finder in sys.meta_path]
"""
RUN = """
import numpy as np
from pathlib import Path
from arm_runtime import vgf
print(vgf.run(Path(sys.argv[1]).read_bytes(), [np.array([-1, 2, -3, 4], np.int32)])[0].tolist())
print("executorch" in Path("/proc/self/maps").read_text(), "torch" in sys.modules)
try:
    import arm_runtime.ethosu
except ImportError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def abs_vgf(vgf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that makes |x| of int32 [4]."""
    path = tmp_path_factory.mktemp("library") / "abs.vgf"
    path.write_bytes(graph_vgf("ABS", DType.INT32, 4))
    return path


def printed(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_it_needs_the_system_alone(vgf: Any) -> None:
    """Vulkan's loader is opened at run time."""
    if shutil.which("readelf") is None:
        pytest.skip("apt-get install binutils")
    library = vgf.FOLDER / "lib" / "libarm_vgf.so"
    rows = printed(["readelf", "--dynamic", "--wide", str(library)]).splitlines()
    needed = {row.split("[")[1].rstrip("]").split(".so")[0] for row in rows if "(NEEDED)" in row}
    others = needed - {"libc", "libm", "libstdc++", "libgcc_s", "libpthread", "libdl"}
    assert not [name for name in others if not name.startswith("ld-linux")]
    symbols = printed(["readelf", "--dyn-syms", "--wide", str(library)])
    assert "mlsdk" not in symbols, "the VGF library in it is its own"


def test_a_cmake_project_and_pkg_config(vgf: Any, abs_vgf: Path, tmp_path: Path) -> None:
    cmake = Path(sys.executable).with_name("cmake")
    if not cmake.exists() or shutil.which("c++") is None:
        pytest.skip("needs pip's CMake and a C++ compiler")
    for name, content in (("CMakeLists.txt", CMAKE), ("main.c", C), ("main.cpp", CPP)):
        (tmp_path / name).write_text(content)
    package = vgf.FOLDER / "lib/cmake/arm_vgf"
    printed([str(cmake), "-S", ".", "-B", "build", f"-Darm_vgf_DIR={package}"], cwd=tmp_path)
    printed([str(cmake), "--build", "build"], cwd=tmp_path)
    assert printed([str(tmp_path / "build/c_shared"), str(abs_vgf)]) == "1 2 3 4\n"
    for program in ("cpp_shared", "cpp_static"):
        assert printed([str(tmp_path / "build" / program), str(abs_vgf)]) == "an Error\n1 2 3 4\n"
    if shutil.which("pkg-config") is None:
        return
    env = {**os.environ, "PKG_CONFIG_PATH": str(vgf.FOLDER / "lib/pkgconfig")}
    flags = printed(["pkg-config", "--cflags", "--libs", "arm_vgf"], env=env).split()
    assert printed(["pkg-config", "--modversion", "arm_vgf"], env=env).startswith("0.1")
    rpath = f"-Wl,-rpath,{vgf.FOLDER / 'lib'}"
    printed(["c++", "main.cpp", "-std=c++17", *flags, rpath, "-o", "by_pkg_config"], cwd=tmp_path)
    assert printed([str(tmp_path / "by_pkg_config"), str(abs_vgf)]) == "an Error\n1 2 3 4\n"


def test_python_without_executorch(vgf: Any, abs_vgf: Path) -> None:
    said = printed([sys.executable, "-c", WITHOUT + RUN, str(abs_vgf)]).splitlines()
    assert said[:2] == ["[1, 2, 3, 4]", "False False"]
    assert "delegates of arm_runtime need ExecuTorch: pip install" in said[2]


def test_the_command_runs_a_vgf_without_executorch(vgf: Any, abs_vgf: Path, tmp_path: Path) -> None:
    """``arm-tosa run x.vgf``."""
    np.save(tmp_path / "x.npy", np.array([-1, 2, -3, 4], np.int32))
    words = ["run", str(abs_vgf), "--input", str(tmp_path / "x.npy"), "--output", str(tmp_path / "y.npy")]
    code = f"{WITHOUT}\nfrom arm_tosa_core.cli.main import main\nsys.argv[1:] = {words!r}\nmain()"
    printed([sys.executable, "-c", code])
    assert np.load(tmp_path / "y.npy").tolist() == [1, 2, 3, 4]
