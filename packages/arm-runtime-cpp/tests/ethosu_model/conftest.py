"""The functional model's library, built for the tests of this folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def model(cmake_build: Callable[..., Path]) -> Path:
    """The shared library of the optimized build; skips where there is no compiler or CMake."""
    return cmake_build("host", "arm_ethosu_model_c") / "libarm_ethosu_model_c.so"
