"""What the tests of this package share: C++ builds, and a program to run."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROJECT = Path(__file__).parents[1]
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Program:
    """The demo's network, trained and compiled for one accelerator.

    Args:
        pte: the program.
        tosa: the graph of its one delegate.
        payload: that delegate.
        pictures: [8, 1, 8, 8] float32, of the data that the training never saw.
    """

    pte: bytes
    tosa: bytes
    payload: bytes
    pictures: Array

    @property
    def inputs(self) -> Array:
        """The pictures as int8, for the payload itself; [8, 64]."""
        return np.round(self.pictures.reshape(len(self.pictures), -1) * 255 - 128).astype(np.int8)


@pytest.fixture(scope="session")
def runtime() -> Any:
    """The package ``arm_runtime``; skips where it is not installed."""
    return pytest.importorskip("arm_runtime", reason="arm-runtime-cpp is not installed: nox -s tests-runtime does it")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Program]:
    """Compiles the demo's network for an accelerator, with extra flags of Vela, once for each."""
    import torch
    from executorch.exir import to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
    from arm_tosa_core import get_symmetric_quantization_config
    from arm_tosa_core.exir.pte import delegates

    made: dict[tuple[str, ...], Program] = {}
    digits = _digits_model()

    def compile_(accelerator: str, *flags: str) -> Program:
        if (accelerator, *flags) not in made:
            pictures, labels = digits.load()
            net = digits.train(pictures[360:], labels[360:], epochs=4)
            folder = tmp_path_factory.mktemp(accelerator)
            spec = EthosUCompileSpec(accelerator, extra_flags=[*flags]).dump_intermediate_artifacts_to(folder)
            quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
            example = (pictures[360:361],)
            prepared = prepare_pt2e(torch.export.export(net, example).module(), quantizer)
            for picture in pictures[360:420].split(1):
                prepared(picture)
            program = torch.export.export(convert_pt2e(prepared), example)
            edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)])
            pte = bytes(edge.to_executorch().buffer)
            (delegate,) = delegates(pte)
            tosa = (folder / "delegate_0" / f"{accelerator}.tosa").read_bytes()
            made[accelerator, *flags] = Program(pte, tosa, delegate.payload, pictures[:8].numpy())
        return made[accelerator, *flags]

    return compile_


def _digits_model() -> Any:
    pytest.importorskip("sklearn", reason="the pictures of digits need scikit-learn")
    spec = spec_from_file_location("digits_model", PROJECT.parents[1] / "examples" / "digits_model.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def cmake_build() -> Callable[..., Path]:
    """Builds targets of a preset in ``build/pytest-PRESET`` and returns that folder; skips without CMake or compiler.

    The folder stays, so that the next run builds only what has changed; one process at a time works in it. In that of
    ``host``, nox has built the runtime that is installed (``nox_sessions/environments.py``).
    """

    # What is preloaded for the tests (nox -s sanitize) is not meant for compilers.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}

    def build(preset: str, *targets: str, compiler: str = "c++") -> Path:
        if preset == "host" and "ASAN_OPTIONS" in os.environ:
            preset = "host-asan"
        folder = PROJECT / "build" / f"pytest-{preset}"
        for command, package in ((cmake(), "pip install cmake"), (shutil.which(compiler), f"apt install {compiler}")):
            if command is None:
                pytest.skip(f"nothing to build with: {package}")
        generator = ("-G", "Ninja") if Path(sys.executable).with_name("ninja").exists() else ()
        with _lock(folder):
            for step in (
                [
                    *("--preset", preset, "-B", str(folder), "-S", str(PROJECT), *generator),
                    f"-DPython_EXECUTABLE={sys.executable}",
                ],
                ["--build", str(folder), "--parallel", "2", "--target", *targets],
            ):
                run([str(cmake()), *step], cwd=PROJECT, env=env, timeout=900)
        return folder

    return build


@pytest.fixture(scope="session")
def extra_build(cmake_build: Callable[..., Path]) -> Callable[..., Path]:
    """``cmake_build`` of another preset than ``host``: minutes of compiling, so that its tests count as slow."""
    return cmake_build


def cmake() -> str | None:
    """CMake: pip's, beside this Python, or the system's."""
    beside = Path(sys.executable).with_name("cmake")
    return str(beside) if beside.exists() else shutil.which("cmake")


def run(command: list[str], **options: Any) -> str:
    """Runs a command that must succeed; returns what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}:\n{(done.stdout + done.stderr)[-4000:]}"
    return done.stdout


class _lock:
    """Holds a build folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = (folder / "lock").open("w")

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


@pytest.fixture(scope="session")
def runner(runtime: Any) -> Iterator[str]:
    """The installed program ``arm_runner``."""
    assert find_spec("arm_runtime") is not None
    yield str(runtime.FOLDER / "bin" / "arm_runner")
