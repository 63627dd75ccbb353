"""A run allocates nothing: counted by a program that replaces ``operator new`` for itself and for the driver."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vgf_files import graph_vgf

from arm_tosa_core.tosa.ir import DType


def test_runs_allocate_nothing(vgf: Any, cmake_build: Callable[..., Path], tmp_path: Path) -> None:
    """Whatever is counted was asked for by the driver or by Arm's emulation layer (one per run, of its graph layer)."""
    import emulation_layer

    (tmp_path / "abs.vgf").write_bytes(graph_vgf("ABS", DType.INT32, 16))
    program = cmake_build("host", "vgf_count_allocations") / "tests" / "vgf" / "vgf_count_allocations"
    layers = str(Path(emulation_layer.__file__).parent / "deploy")
    env = {**os.environ, "ARM_VGF_LAYERS": layers, "ARM_VGF_CACHE": str(tmp_path)}
    command = [str(program), str(tmp_path / "abs.vgf"), "20"]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    control, runs, *lines = done.stdout.splitlines()
    assert (control, runs) == ("counted of one: 1", "runs 20")
    askers = {Path(line.split(maxsplit=1)[1]).name for line in lines}
    assert not askers & {"vgf_count_allocations", "libstdc++.so.6", "unknown"}, lines
