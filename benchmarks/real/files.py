"""Files of installed packages, and modules of theirs without the rest of the package."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any


def package_file(package: str, path: str) -> Path:
    """A file of a package that is installed; the package is not imported.

    Raises:
        FileNotFoundError: it is not there.
    """
    spec = PathFinder.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        file = Path(folder, path)
        if file.exists():
            return file
    raise FileNotFoundError(f"{package}/{path} is not installed: run this through nox (bench-real, bench-nx)")


def package_module(name: str, **stand_ins: dict[str, Any]) -> ModuleType:
    """A module of a package, imported without running the ``__init__`` of the packages around it.

    Args:
        name: such as ``torchcrepe.model``.
        stand_ins: contents of modules that it imports and does not need, by name with ``__`` for each dot.
    """
    parts = name.split(".")
    root = package_file(parts[0], ".")
    around = [".".join(parts[:count]) for count in range(1, len(parts))]
    for bare in (*around, *(written.replace("__", ".") for written in stand_ins)):
        module = ModuleType(bare)
        if bare in around:
            module.__path__ = [str(root.joinpath(*bare.split(".")[1:]))]
        vars(module).update(stand_ins.get(bare.replace(".", "__"), {}))
        sys.modules[bare] = module
    return importlib.import_module(name)
