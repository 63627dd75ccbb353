"""Firmware with ExecuTorch's runtime: built for this machine and run, and built for a Cortex-M without a runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import lower
from arm_tosa_core.testing.harness import exported
from build_tools import require
from firmware_words import NET_INPUTS, invoke, net_pte

RUNTIME = Path(__file__).resolve().parents[1] / "packages" / "arm-runtime-cpp"
TARGET = "ethos-u55-128"

#: Of ExecuTorch's build what the project uses; its libraries are empty.
EXECUTORCH = """
message(STATUS "selected: ${EXECUTORCH_SELECT_OPS_LIST}")
foreach(name executorch executorch_kernels quantized_ops_lib)
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" "")
  add_library(${name} STATIC "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
endforeach()
"""
APP = """
target_compile_options(firmware PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions;-fno-rtti>)
target_link_options(firmware PRIVATE -nostartfiles -Wl,--unresolved-symbols=ignore-all -Wl,-e,main)
"""


class Best(torch.nn.Module):
    """A convolution and a layer for the NPU, then the three largest scores and their places, on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(3, 8, 3), torch.nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.topk(self.last(torch.relu(self.first(x)).mean((2, 3))), 3)


def best_pte() -> bytes:
    torch.manual_seed(0)
    spec = EthosUCompileSpec(TARGET)
    return lower(exported(Best().eval(), (torch.randn(2, 3, 8, 8),), spec, "int8"), spec).buffer


def cmake(folder: Path, *words: object, ok: bool = True) -> str:
    """What CMake of the Python packages says, its lines joined; the project needs 3.28."""
    found = Path(sys.executable).with_name("cmake")
    if not found.exists():
        pytest.skip("no cmake 3.28: pip install cmake")
    done = subprocess.run(
        [found, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PATH": f"{found.parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.returncode == 0) == ok, (done.stdout + done.stderr)[-4000:]
    return " ".join((done.stdout + done.stderr).split())


def deployed(folder: Path, pte: bytes) -> Path:
    (folder / "net.pte").write_bytes(pte)
    invoke("deploy", folder / "net.pte", "--format", "executorch", "-o", folder / "firmware")
    return folder / "firmware"


NETWORKS: dict[str, Any] = {
    "a part on the CPU": (best_pte, [torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))]),
    "all on the NPU": (lambda: net_pte(TARGET, "int8"), list(NET_INPUTS)),
}


@pytest.mark.parametrize("case", NETWORKS)
def test_outputs_are_those_of_the_program(case: str, tmp_path: Path) -> None:
    """Bit for bit, with every warning an error."""
    arm_runtime = pytest.importorskip("arm_runtime")
    require("c++")
    make, inputs = NETWORKS[case]
    firmware = deployed(tmp_path, make())
    package = arm_runtime.FOLDER / "lib" / "cmake" / "arm_runtime"
    cmake(
        firmware, "-S", ".", "-B", "build", f"-Darm_runtime_DIR={package}", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"
    )  # fmt: skip
    cmake(firmware, "--build", "build")
    for number, tensor in enumerate(inputs):
        (tmp_path / f"net_input{number}.bin").write_bytes(tensor.numpy().tobytes())
        np.save(tmp_path / f"x{number}.npy", tensor.numpy())
    done = subprocess.run([firmware / "build" / "firmware"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    words = [word for number in range(len(inputs)) for word in ("--input", tmp_path / f"x{number}.npy")]
    words += [word for number in range(2) for word in ("--output", tmp_path / f"y{number}.npy")]
    invoke("run", tmp_path / "net.pte", *words)
    for number in range(2):
        expected = np.load(tmp_path / f"y{number}.npy")
        assert (tmp_path / f"net_output{number}.bin").read_bytes() == expected.tobytes()
        assert len(np.unique(expected)) > 2


def test_too_little_memory_is_told(tmp_path: Path) -> None:
    arm_runtime = pytest.importorskip("arm_runtime")
    require("c++")
    firmware = deployed(tmp_path, best_pte())
    package = arm_runtime.FOLDER / "lib" / "cmake" / "arm_runtime"
    cmake(firmware, "-S", ".", "-B", "build", f"-Darm_runtime_DIR={package}", "-DMETHOD_BYTES=512")
    cmake(firmware, "--build", "build")
    done = subprocess.run([firmware / "build" / "firmware"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "larger -DMETHOD_BYTES=" in done.stdout, done.stdout


def test_a_project_for_a_cortex_m(tmp_path: Path) -> None:
    """With the real delegate and ExecuTorch's headers; a stand-in takes the place of its libraries."""
    executorch = pytest.importorskip("executorch.version")
    require("arm-none-eabi-g++", "arm-none-eabi-nm")
    root = tmp_path / "executorch"
    root.mkdir()
    (root / "CMakeLists.txt").write_text(EXECUTORCH)
    for folder in (Path(executorch.__file__).parent / "include" / "executorch").iterdir():
        (root / folder.name).symlink_to(folder)
    firmware = deployed(tmp_path, best_pte())
    (firmware / "app" / "app.cmake").write_text(APP)
    (firmware / "app" / "start.c").write_text("void *__dso_handle;\n")
    toolchain = firmware / "app" / "toolchain.cmake"
    toolchain.write_text(
        f'include("{RUNTIME}/cmake/cortex-m55.cmake")\nset(CMAKE_C_COMPILER arm-none-eabi-gcc)\n'
        'foreach(language C ASM)\n  set(CMAKE_${language}_FLAGS_INIT "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard")\n'
        "endforeach()\n"
    )
    words = ["-S", ".", "-B", "build", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    said = cmake(firmware, *words, ok=False)
    assert "give -DEXECUTORCH_ROOT=" in said
    said = cmake(firmware, *words, f"-DEXECUTORCH_ROOT={root}", f"-DARM_RUNTIME_ROOT={tmp_path}", ok=False)
    assert "is not packages/arm-runtime-cpp" in said
    said = cmake(
        firmware, *words, f"-DEXECUTORCH_ROOT={root}", f"-DARM_RUNTIME_ROOT={RUNTIME}",
        "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON",
    )  # fmt: skip
    assert "selected: aten::topk.values " in said
    cmake(firmware, "--build", "build", "--target", "firmware")
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "-C", firmware / "build" / "firmware"], capture_output=True, text=True, check=True
    ).stdout
    # Nothing refers to the variable that registers the delegate: it is here since the archive is linked whole.
    assert "arm_runtime::ethosu::(anonymous namespace)::backend" in symbols and " R net_pte\n" in symbols
