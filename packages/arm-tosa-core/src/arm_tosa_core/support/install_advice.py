"""Commands that install a package on this machine, for messages.

A package of this repository is installed from where ``arm-tosa-core`` came from: the clone whose sources run, the
folder, git address or wheels that pip was given (PEP 610), or else the package index.
"""

from __future__ import annotations

import json
import shlex
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CORE = "arm-tosa-core"
#: Folder of the packages in a clone.
_PACKAGES = "packages"


def from_index(package: str, *, again: bool = False) -> str:
    """The command for a package that others publish.

    Args:
        package: its name, or several with spaces between.
        again: it is there, and broken.
    """
    return _pip(again, *package.split())


def from_here(package: str, *, again: bool = False) -> str:
    """The command for a package of this repository, which may not be published; arguments as of ``from_index``."""
    clone = _clone()
    if clone is not None and _is_package(clone / package):
        return _pip(again, str(clone / package))
    came_from = _came_from()
    address = str(came_from.get("url", ""))
    if "vcs_info" in came_from:
        info = came_from["vcs_info"]
        return _pip(again, f"{info['vcs']}+{address}@{info['commit_id']}#subdirectory={_PACKAGES}/{package}")
    if "archive_info" in came_from and address.startswith("file:"):
        return _pip(again, "--find-links", str(_path(address).parent), package)
    if "dir_info" in came_from:
        removed = _path(address).parent
        return f"{_pip(again, f'CLONE/{_PACKAGES}/{package}')} ({removed}, where {_CORE} was installed from, is gone)"
    return _pip(again, package)


def _pip(again: bool, *words: str) -> str:
    # Without the dependencies: PyTorch among them may be a build that the index does not have.
    forced = ("--force-reinstall", "--no-deps") if again else ()
    return f"pip install {shlex.join((*forced, *words))}"


def _clone() -> Path | None:
    """The folder of packages in the clone of this file, or of the installation by pip."""
    came_from = _came_from()
    places = [parent / _CORE for parent in Path(__file__).parents if parent.name == _PACKAGES]
    if "dir_info" in came_from:
        places.append(_path(str(came_from["url"])))
    return next((place.parent for place in places if _is_package(place)), None)


def _is_package(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file()


def _came_from() -> dict[str, dict[str, str]]:
    """pip's record of the origin of ``arm-tosa-core``; empty for an index, or if pip did not install it."""
    try:
        text = metadata.distribution(_CORE).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return {}
    return dict(json.loads(text)) if text else {}


def _path(address: str) -> Path:
    return Path(unquote(urlsplit(address).path))
