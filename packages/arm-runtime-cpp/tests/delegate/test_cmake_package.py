"""``find_package(arm_runtime)`` from the installed package, by a project that knows nothing else of us."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CMAKE = """
cmake_minimum_required(VERSION 3.28)
project(consumer CXX)
find_package(arm_runtime 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE arm_runtime::ethosu arm_runtime::vgf)
"""
MAIN = """
#include <executorch/runtime/backend/interface.h>
#include <cstdio>
int main() {
    for (size_t i = 0; i < executorch::runtime::get_num_registered_backends(); ++i)
        std::puts(executorch::runtime::get_backend_name(i).get());
}
"""


def test_a_project_links_the_delegates(runtime: Any, tmp_path: Path) -> None:
    cmake = Path(sys.executable).with_name("cmake")
    if not cmake.exists() or shutil.which("c++") is None:
        pytest.skip("needs pip's CMake and a C++ compiler")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "main.cpp").write_text(MAIN)
    package = runtime.FOLDER / "lib/cmake/arm_runtime"
    for step in (
        ["-S", ".", "-B", "build", f"-Darm_runtime_DIR={package}", f"-DPython_EXECUTABLE={sys.executable}"],
        ["--build", "build"],
    ):
        done = subprocess.run(
            [str(cmake), *step], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    done = subprocess.run([str(tmp_path / "build/consumer")], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["EthosUBackend", "VgfBackend"], done.stderr
