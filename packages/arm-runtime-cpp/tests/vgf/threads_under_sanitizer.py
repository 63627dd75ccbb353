"""Threads of an application under the thread sanitizer; a part of ``nox -s sanitize``, as it compiles for minutes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType


@pytest.mark.parametrize("way", ["threads", "forked"])
def test_it_reports_nothing(vgf: Any, extra_build: Callable[..., Path], tmp_path: Path, way: str) -> None:
    frame = extra_build("host-tsan", "vgf_frame") / "tests" / "vgf" / "vgf_frame"
    (tmp_path / "a.vgf").write_bytes(graph_vgf("ABS", DType.INT32, 2000))
    x = np.arange(-1000, 1000, dtype=np.int32)
    x.tofile(tmp_path / "x")
    # Without random addresses, among which the sanitizer of GCC 12 may not find room for its own.
    fixed = [shutil.which("setarch") or pytest.fail("setarch is missing: apt install util-linux"), "-R"]
    command = [*fixed, str(frame), way, "a.vgf", "x", "y"]
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and "ThreadSanitizer" not in done.stderr, done.stderr[-3000:]
    assert np.array_equal(np.fromfile(tmp_path / "y", np.int32), np.abs(x))
