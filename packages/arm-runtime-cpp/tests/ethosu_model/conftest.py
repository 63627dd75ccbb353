"""The functional model's library, built for the tests of this folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def build(cmake_build: Callable[..., Path]) -> Callable[[str], Path]:
    """Builds a preset's library and returns the folder that it is in; skips where there is no compiler or CMake."""
    return lambda preset: cmake_build(preset, "arm_ethosu_model_c")


@pytest.fixture(scope="session")
def model(build: Callable[[str], Path]) -> Path:
    """The shared library of the optimized build."""
    return build("host") / "libarm_ethosu_model_c.so"
