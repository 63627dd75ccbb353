"""Makes the helper modules of this folder importable, and has the verifier judge graphs between rewrites."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arm_tosa_core.testing.verified_rewrites import verified_rewrites

sys.path.append(str(Path(__file__).parent))  # pytest's importlib mode leaves it alone


@pytest.fixture(autouse=True)
def _verified_rewrites() -> Iterator[None]:
    with verified_rewrites():
        yield
