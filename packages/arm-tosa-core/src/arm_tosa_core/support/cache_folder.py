"""The folder of results that are kept on disk, and the sources of packages that they depend on."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def cache_folder() -> Path:
    """``$ARM_TOSA_CACHE_DIR``, else ``arm-tosa`` in the user's cache folder of this system.

    Of a user without a home it is one that cannot be made: nothing is kept.
    """
    if own := os.environ.get("ARM_TOSA_CACHE_DIR"):
        return Path(own)
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if sys.platform != "darwin" and users.is_absolute():  # as the standard has it
        return users / "arm-tosa"
    try:
        home = Path.home()
    except RuntimeError:
        return Path(os.devnull, "arm-tosa")
    return home.joinpath(*(["Library", "Caches"] if sys.platform == "darwin" else [".cache"]), "arm-tosa")


def sources_of(package: str) -> Iterator[str]:
    """The Python files of a package with their sizes and times: an editable package changes without its version."""
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or [str(spec.origin)]) if spec else []:
        files = sorted(Path(root).rglob("*.py")) if os.path.isdir(root) else [Path(root)]
        files = [file for file in files if file.is_file()]  # an editor's locks are links to nothing
        yield from (f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)


@cache
def digest_of_sources(*packages: str) -> str:
    """A digest of the sources of packages: a part of the key of results that depend on them."""
    files = [file for package in packages for file in sources_of(package)]
    return hashlib.sha256("\n".join(files).encode(errors="surrogatepass")).hexdigest()
