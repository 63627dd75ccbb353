"""The sources of installed packages, by which results that depend on them are told apart."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path


def sources_of(package: str) -> Iterator[str]:
    """The Python files of a package with their sizes and times: an editable package changes without its version."""
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or [str(spec.origin)]) if spec else []:
        files = sorted(Path(root).rglob("*.py")) if os.path.isdir(root) else [Path(root)]
        yield from (f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
