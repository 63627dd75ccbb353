"""The runtime's own code under the address, leak and undefined-behaviour sanitizers, and under the fuzzer's corpus."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from vgf_files import Load, graph_vgf
from vgf_net import Net

from arm_tosa_core.tosa.ir import DType

FOLDER = Path(__file__).parent
ICDS = Path("/usr/share/vulkan/icd.d")

both_engines = pytest.mark.parametrize("engine", ["compute", "layer"])


def clean(command: list[str], folder: Path, engine: str) -> None:
    """Runs a sanitized program, twice: the first run leaves caches that the second reads. What llvmpipe itself leaks is
    not counted: 48 bytes for every pipeline, in blocks whose allocation it calls directly. Vulkan's loader unloads it
    before leaks are looked for, and LeakSanitizer then knows neither its name nor what its own data point to: it is
    loaded beforehand, behind the sanitizer."""
    (folder / "leaks").write_text("leak:libvulkan_lvp.so\n")
    sanitizer = subprocess.run(["c++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    drivers = [json.loads(file.read_text())["ICD"]["library_path"] for file in ICDS.glob("lvp_icd*.json")]
    env = {
        **os.environ,
        "LD_PRELOAD": " ".join([sanitizer.stdout.strip(), *drivers]),
        "LSAN_OPTIONS": f"suppressions={folder / 'leaks'}",
        "ARM_VGF_CACHE": str(folder / "cache"),
        "ARM_VGF_ENGINE": engine,
    }
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr[-3000:]


@both_engines
def test_a_session_is_clean(layer: Load, extra_build: Callable[..., Path], tmp_path: Path, engine: str) -> None:
    """Loads a graph, runs it twice and unloads it."""
    x = np.arange(-8, 8, dtype=np.int32)
    (tmp_path / "abs.vgf").write_bytes(graph_vgf("ABS", DType.INT32, 16))
    x.tofile(tmp_path / "x")
    play = extra_build("host-asan", "vgf_play") / "tests" / "vgf" / "vgf_play"
    clean([str(play), "abs.vgf", "2", "x", "y"], tmp_path, engine)
    assert np.array_equal(np.fromfile(tmp_path / "y", np.int32), np.abs(x))


@both_engines
def test_a_program_is_clean(
    layer: Load, pte: Path, extra_build: Callable[..., Path], tmp_path: Path, engine: str
) -> None:
    """The delegate in ``arm_runner``."""
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    runner = extra_build("host-asan", "arm_runner") / "arm_runner"
    outputs = ["--output", "y.npy", "--output", "i.npy"]
    clean([str(runner), "--model", str(pte), "--input", "x.npy", *outputs, "--repeat", "2"], tmp_path, engine)
    expected = Net()(torch.from_numpy(x))[0].detach().numpy()
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5, atol=1e-6)


def test_frames_are_clean(layer: Load, extra_build: Callable[..., Path], tmp_path: Path) -> None:
    """Of an application, with buffers and with images, after mistakes, and by the C interface."""
    frame = str(extra_build("host-asan", "vgf_frame") / "tests" / "vgf" / "vgf_frame")
    (tmp_path / "a.vgf").write_bytes(graph_vgf("REVERSE", DType.FP32, 3, 4, 3, axis=0))
    x = np.arange(3 * 36, dtype=np.float32)
    x.tofile(tmp_path / "x")
    clean([frame, "buffers", "a.vgf", "none", "3", "20", "x", "y"], tmp_path, "compute")
    assert np.array_equal(np.fromfile(tmp_path / "y", "f4").reshape(3, 3, 12), x.reshape(3, 3, 12)[:, ::-1])
    np.zeros((3, 4, 4), "f4").tofile(tmp_path / "image")
    for words in (
        ("images", "a.vgf", "109", "109", "last", "image", "out"),
        ("errors", "a.vgf"),
        ("c", "a.vgf", "x", "y"),
    ):
        clean([frame, *words], tmp_path, "compute")


@pytest.mark.parametrize(("program", "corpus"), [("vgf_fuzz", "corpus"), ("vgf_fuzz_graph", "graph_corpus")])
def test_the_corpus_of_a_fuzzer(program: str, corpus: str, extra_build: Callable[..., Path]) -> None:
    """Every file that fuzzing found to reach new code, read under the sanitizers."""
    fuzzer = extra_build("fuzz", program, compiler="clang++")
    files = sorted(map(str, (FOLDER / corpus).iterdir()))
    assert len(files) > 100
    command = [str(fuzzer / "tests" / "vgf" / program), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
