"""Packages whose names are imported when they are used, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    module: str, homes: Mapping[str, str], there: Mapping[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module whose names are imported late.

    Args:
        module: its name, for errors.
        homes: the module, below that one's package, that has each name; with ``:OTHER`` behind, under that name, and
            with ``:`` alone the module is meant itself.
        there: names that the module has without them (``globals()``).
    """

    package = module.partition(".")[0]

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, colon, attribute = homes[name].partition(":")
        owner = importlib.import_module(f"{package}.{home}")
        return owner if colon and not attribute else getattr(owner, attribute or name)

    return get, lambda: sorted({*there, *homes})
