"""``add_subdirectory`` of the runtime: the project that does it keeps its own settings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PARENT = """
cmake_minimum_required(VERSION 3.28)
project(parent CXX)
add_library(parent STATIC parent.cpp)
add_subdirectory("${RUNTIME}" runtime)
if(CMAKE_BUILD_TYPE OR CMAKE_CXX_VISIBILITY_PRESET OR DEFINED CMAKE_CXX_STANDARD)
  message(FATAL_ERROR "settings leaked: '${CMAKE_BUILD_TYPE}' '${CMAKE_CXX_STANDARD}'")
endif()
if(NOT TARGET arm_ethosu_model OR NOT TARGET arm_ethosu_network)
  message(FATAL_ERROR "the libraries are missing")
endif()
target_link_libraries(parent PRIVATE arm_ethosu_model)
"""


def test_a_parent_keeps_its_settings(tmp_path: Path) -> None:
    """Configured, not built: no build type, optimization or warnings of ours, no rule to install, no Python for VGF."""
    cmake = Path(sys.executable).with_name("cmake")
    if not cmake.exists() or shutil.which("c++") is None:
        pytest.skip("needs pip's CMake and a C++ compiler")
    (tmp_path / "CMakeLists.txt").write_text(PARENT)
    (tmp_path / "parent.cpp").write_text("#include <arm_runtime/ethosu_model.hpp>\n")
    settings = {"RUNTIME": PROJECT, "ARM_RUNTIME_VGF": "OFF", "CMAKE_EXPORT_COMPILE_COMMANDS": "ON"}
    settings["Python_EXECUTABLE"] = sys.executable
    words = [str(cmake), "-S", ".", "-B", "build", *(f"-D{name}={value}" for name, value in settings.items())]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    commands = {
        Path(row["file"]).name: row["command"]
        for row in json.loads((tmp_path / "build/compile_commands.json").read_text())
    }
    assert not {"-O3", "-Wall", "-std=gnu++17", "-std=c++17"} & set(commands["parent.cpp"].split())
    ours = commands["container.cpp"].split()
    assert "-std=c++17" in ours and "-fvisibility=hidden" in ours, "what our code needs, whoever builds it"
    assert not {"-O3", "-Wall", "-Werror"} & set(ours)
    assert "file(INSTALL" not in (tmp_path / "build/runtime/cmake_install.cmake").read_text()
    cache = (tmp_path / "build/CMakeCache.txt").read_text()
    assert "VGF_DIR" not in cache and "ARM_VGF_" not in cache
