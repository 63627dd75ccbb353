"""A run allocates nothing: counted by a program that replaces ``operator new`` for itself and for the driver."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from vgf_files import Load, graph_vgf

from arm_tosa_core.tosa.ir import DType


@pytest.mark.parametrize("engine", ["compute", "layer"])
def test_runs_allocate_nothing(layer: Load, cmake_build: Callable[..., Path], tmp_path: Path, engine: str) -> None:
    """Whatever is counted was asked for by the driver or by Arm's emulation layer (one per run, of its graph layer)."""
    (tmp_path / "abs.vgf").write_bytes(graph_vgf("ABS", DType.INT32, 16))
    program = cmake_build("host", "vgf_count_allocations") / "tests" / "vgf" / "vgf_count_allocations"
    env = {**os.environ, "ARM_VGF_CACHE": str(tmp_path), "ARM_VGF_ENGINE": engine}
    command = [str(program), str(tmp_path / "abs.vgf"), "20"]
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    control, runs, *lines = done.stdout.splitlines()
    assert (control, runs) == ("counted of one: 1", "runs 20")
    askers = {Path(line.split(maxsplit=1)[1]).name for line in lines}
    assert not askers & {"vgf_count_allocations", "libstdc++.so.6", "unknown"}, lines
