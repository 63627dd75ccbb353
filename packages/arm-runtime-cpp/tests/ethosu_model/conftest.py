"""Builds the CMake project once for the tests of this folder."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

_PROJECT = Path(__file__).parents[2]


def _cmake() -> str | None:
    beside = Path(sys.executable).with_name("cmake")  # pip's
    return str(beside) if beside.exists() else shutil.which("cmake")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Configures and builds a preset and returns its folder; skips where there is no compiler or CMake."""
    built: dict[str, Path] = {}

    def make(preset: str) -> Path:
        if preset not in built:
            cmake = _cmake()
            if cmake is None:
                pytest.skip("needs CMake 3.28: pip install cmake")
            if shutil.which("c++") is None:
                pytest.skip("needs a C++ compiler, c++ on PATH")
            folder = tmp_path_factory.mktemp(preset)
            for command in (
                ["--preset", preset, "-B", str(folder), "-S", str(_PROJECT)],
                ["--build", str(folder), "--target", "arm_ethosu_model_c"],
            ):
                done = subprocess.run(
                    [cmake, *command], cwd=_PROJECT, capture_output=True, text=True, timeout=600, check=False
                )
                assert done.returncode == 0, f"cmake {' '.join(command)} failed:\n{(done.stdout + done.stderr)[-4000:]}"
            built[preset] = folder
        return built[preset]

    return make


@pytest.fixture(scope="session")
def model(build: Callable[[str], Path]) -> Path:
    """The shared library of the optimized build."""
    return build("host") / "libarm_ethosu_model_c.so"
