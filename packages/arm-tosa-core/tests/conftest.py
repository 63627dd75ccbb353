"""Makes helper modules importable, keeps tests off the user's cache, and has graphs verified between rewrites."""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from arm_tosa_core.plugin import entry_points as plugins
from arm_tosa_core.testing.verified_rewrites import verified_rewrites

sys.path.append(str(Path(__file__).parent))  # pytest's importlib mode leaves it alone


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(module): the test needs a module that this package does not require")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_TOSA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _verified_rewrites() -> Iterator[None]:
    with verified_rewrites():
        yield


@pytest.fixture(autouse=True)
def _is_installed(request: pytest.FixtureRequest) -> None:
    """Skips what needs a package that is not here: where this package is tested alone, others' targets are not."""
    for marker in request.node.iter_markers("needs"):
        if find_spec(marker.args[0]) is None:
            pytest.skip(f"{marker.args[0]} is not installed beside this package")
    target = getattr(request.node, "callspec", None) and request.node.callspec.params.get("target")
    if (
        isinstance(target, str)
        and target.startswith(("ethos-u", "vgf", "cortex-m"))
        and target not in plugins.targets()
    ):
        pytest.skip(f"{target} is not installed beside this package")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with ``models.py`` in it."""
    from cli_kit import MODELS

    monkeypatch.chdir(tmp_path)
    (tmp_path / "models.py").write_text(MODELS)
    # Commands load it as the module ``models``, with its folder on the path; the repository's tests have one as well.
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "models", ModuleType("models"))
    del sys.modules["models"]
    return tmp_path


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Installs a target named acme, made of the fields given."""

    def install(**fields: Any) -> None:
        from target_kit import target as made_of

        target = made_of("acme", **{"spec": "TOSA-1.0+INT+FP", **fields})
        monkeypatch.setattr(plugins, "target", lambda name: target)
        monkeypatch.setattr(plugins, "targets", lambda: {"acme": target})
        monkeypatch.setattr(plugins, "providers", lambda: [plugins.Provider("acme", "acme-npu", "1.0", target)])

    return install
