"""The runtime's own code under the address, leak and undefined-behaviour sanitizers, and under the fuzzer's corpus."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from vgf_files import graph_vgf

from arm_tosa_core.ir import DType

FOLDER = Path(__file__).parent


def test_a_session_is_clean(vgf: Any, cmake_build: Callable[..., Path], tmp_path: Path) -> None:
    """Loads a graph, runs it twice and unloads it; what llvmpipe itself leaks is not counted."""
    import emulation_layer

    x = np.arange(-8, 8, dtype=np.int32)
    (tmp_path / "abs.vgf").write_bytes(graph_vgf("ABS", DType.INT32, 16))
    x.tofile(tmp_path / "x")
    (tmp_path / "leaks").write_text("leak:libvulkan_lvp.so\nleak:libVkLayer_\n")
    play = cmake_build("host-asan", "vgf_play") / "src" / "vgf" / "vgf_play"
    env = {
        **os.environ,
        "LSAN_OPTIONS": f"suppressions={tmp_path / 'leaks'}",
        "ARM_VGF_CACHE": str(tmp_path / "cache"),
        "ARM_VGF_LAYERS": str(Path(emulation_layer.__file__).parent / "deploy"),
    }
    command = [str(play), "abs.vgf", "2", "x", "y"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert np.array_equal(np.fromfile(tmp_path / "y", np.int32), np.abs(x))


def test_the_corpus_of_the_fuzzer(cmake_build: Callable[..., Path]) -> None:
    """Every file that fuzzing found to reach new code, read under the sanitizers."""
    fuzzer = cmake_build("fuzz", "vgf_fuzz", compiler="clang++")
    files = sorted(map(str, (FOLDER / "corpus").iterdir()))
    assert len(files) > 100
    command = [str(fuzzer / "src" / "vgf" / "vgf_fuzz"), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
