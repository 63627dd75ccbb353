"""Makes the helper modules of this folder importable, and has the verifier judge graphs between rewrites."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arm_tosa_core.testing.verified_rewrites import verified_rewrites
from arm_vgf.nx_estimator import VARIABLE

sys.path.append(str(Path(__file__).parent))  # pytest's importlib mode leaves it alone


@pytest.fixture(autouse=True)
def _verified_rewrites() -> Iterator[None]:
    with verified_rewrites():
        yield


@pytest.fixture
def no_estimator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home, a cache and a PATH of the test's own, where a stand-in may be put."""
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in (VARIABLE, "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
