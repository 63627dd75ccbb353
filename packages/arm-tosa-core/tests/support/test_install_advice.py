"""Advice on installing: a command for each place that the core may have come from."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from arm_tosa_core.support import install_advice
from arm_tosa_core.support.install_advice import from_here, from_index


class Installed:
    """A distribution of which pip wrote this in ``direct_url.json``; None for one from an index."""

    def __init__(self, came_from: dict[str, Any] | None) -> None:
        self.came_from = came_from

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self.came_from) if self.came_from else None


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a clone around, in which the package seems to lie."""
    monkeypatch.setattr(install_advice, "__file__", str(tmp_path / "site-packages" / "install_advice.py"))
    return tmp_path


def came_from(monkeypatch: pytest.MonkeyPatch, **what: Any) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(what or None))


def clone(folder: Path, *packages: str) -> Path:
    for package in packages:
        (folder / "packages" / package).mkdir(parents=True)
        (folder / "packages" / package / "pyproject.toml").touch()
    return folder / "packages"


def test_from_a_clone_it_is_the_folder_beside(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = clone(site / "a clone", "arm-tosa-core", "arm-vgf")
    came_from(monkeypatch, url=(packages / "arm-tosa-core").as_uri(), dir_info={})
    assert from_here("arm-vgf") == f"pip install '{packages}/arm-vgf'"


def test_sources_on_the_path_are_a_clone_too(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = clone(site, "arm-tosa-core", "arm-vgf")
    came_from(monkeypatch)
    monkeypatch.setattr(install_advice, "__file__", str(packages / "arm-tosa-core" / "src" / "x.py"))
    assert from_here("arm-vgf", again=True) == f"pip install --force-reinstall --no-deps {packages}/arm-vgf"


def test_a_clone_that_is_gone_is_named(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came_from(monkeypatch, url=(site / "packages" / "arm-tosa-core").as_uri(), dir_info={"editable": True})
    assert from_here("arm-vgf") == (
        f"pip install CLONE/packages/arm-vgf ({site}/packages, where arm-tosa-core was installed from, is gone)"
    )


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (
            {
                "url": "https://example.org/arm.git",
                "vcs_info": {"vcs": "git", "commit_id": "1a2b3c"},
                "subdirectory": "packages/arm-tosa-core",
            },
            "pip install 'git+https://example.org/arm.git@1a2b3c#subdirectory=packages/arm-vgf'",
        ),
        (
            {"url": "file:///dist/arm_tosa_core-0.1-py3-none-any.whl", "archive_info": {}},
            "pip install --find-links /dist arm-vgf",
        ),
        ({}, "pip install arm-vgf"),
    ],
    ids=["git", "wheels", "index"],
)
def test_elsewhere_it_is_where_the_core_is(
    site: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], wanted: str
) -> None:
    came_from(monkeypatch, **found)
    assert from_here("arm-vgf") == wanted


def test_without_a_distribution_it_is_the_index(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert from_here("arm-vgf") == "pip install arm-vgf"


def test_packages_of_others_are_on_the_index() -> None:
    assert from_index("ethos-u-vela") == "pip install ethos-u-vela"
    assert from_index("tosa-tools", again=True) == "pip install --force-reinstall --no-deps tosa-tools"
