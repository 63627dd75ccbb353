"""``VgfBackend`` at its edges: its options, int64 arguments, and arguments that do not fit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_push_constants import COMPUTE, program, pushing
from vgf_files import SPEC

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

OK, INVALID_ARGUMENT, INVALID_COMPATIBILITY = 0, 18, 48  # executorch::runtime::Error


@pytest.fixture(scope="module")
def steps(
    vgf: Any, cmake_build: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """What ``delegate_edges.cpp`` printed, on the device that Python chose, by a part of its name."""
    graph = Graph()
    x = graph.input("x", (4,), DType.INT32)
    graph.outputs = [graph.append("ADD", [x, x]).output]
    folder = tmp_path_factory.mktemp("edges")
    file = folder / "double.vgf"
    file.write_bytes(convert(serialize(graph, SPEC)))
    with vgf.Session(file.read_bytes()) as session:
        assert np.array_equal(session.run([np.array([1, 2, 3, 4], np.int32)])[0], [2, 4, 6, 8])
        device = session.device.split()[0].upper()
    pushes = folder / "pushes.vgf"
    pushes.write_bytes(program(pushing("int a;", "x[i] * a", ((COMPUTE, 0, 4),))))
    edges = cmake_build("host", "vgf_delegate_edges") / "tests" / "vgf" / "vgf_delegate_edges"
    # Options go before variables.
    env = {**os.environ, "ARM_VGF_CACHE": str(folder), "ARM_VGF_DEVICE": "none such", "ARM_VGF_ENGINE": "native"}
    command = [str(edges), str(file), device, str(pushes)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_options(steps: subprocess.CompletedProcess[str]) -> None:
    lines = steps.stdout.splitlines()
    assert lines[:3] == [
        f"option devise 0: {INVALID_ARGUMENT}",
        f"option engine warp: {INVALID_ARGUMENT}",
        f"option engine compute: {OK}",
    ]
    assert lines[3:5] == [f"option device no such device: {OK}", f"load: {INVALID_COMPATIBILITY}"]
    assert lines[5].startswith("option device ") and lines[6] == f"load: {OK}"
    assert "no option 'devise' of this type; it has 'device', 'engine' and 'tune', strings" in steps.stderr
    assert "no VGF engine 'warp'" in steps.stderr
    assert "`compute` needs a Vulkan 1.1 device that fits 'no such device'; this machine has 0:" in steps.stderr


def test_push_constants(steps: subprocess.CompletedProcess[str]) -> None:
    assert steps.stdout.splitlines()[7] == f"load: {INVALID_COMPATIBILITY}"
    assert "segment 'shader' takes push constants, for which ExecuTorch has no place: run the VGF with" in steps.stderr


def test_int64(steps: subprocess.CompletedProcess[str]) -> None:
    """Narrowed and widened; out of int32's range: refused, with the argument and the number."""
    lines = steps.stdout.splitlines()
    assert lines[8:10] == [f"int64: {OK}", "2 -4 1073741824 -2147483648 "]
    assert lines[10] == f"range: {INVALID_ARGUMENT}"
    assert "input 0 ('input_0') holds 2147483648, which int32, the program's type, cannot" in _said(steps, "range")
    assert lines[11:13] == [f"int64 out: {OK}", "2 4 6 8 "]


def test_threads(steps: subprocess.CompletedProcess[str]) -> None:
    """Three threads, each with a method of its own and one that all share."""
    assert steps.stdout.splitlines()[-1] == "threads: 300 runs, 0 wrong"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("shape", "input 0 ('input_0') has shape [4], got [3]"),
        ("type", "output 0 ('output_0') is int32, got float32"),
        ("no type of ours", "argument 0 is Double, a type that no VGF tensor has"),
    ],
)
def test_an_argument_that_does_not_fit(steps: subprocess.CompletedProcess[str], step: str, message: str) -> None:
    assert f"{step}: {INVALID_ARGUMENT}" in steps.stdout.splitlines()
    assert message in _said(steps, step)


def _said(steps: subprocess.CompletedProcess[str], step: str) -> str:
    """What was logged in a step."""
    return steps.stderr.partition(f"step {step}\n")[2].partition("step ")[0]
