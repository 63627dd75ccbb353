"""The packages of ``arm-tosa-core[sweep]``: Optuna, dask and psutil, which carry few types."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..support.errors import UsageError
from ..support.install_advice import from_index


def optuna() -> Any:
    """Optuna; see ``_installed``."""
    return _installed("optuna", "a sweep")


def distributed() -> Any:
    """dask's ``distributed``; see ``_installed``."""
    return _installed("distributed", "--dask")


def psutil() -> Any:
    """psutil; see ``_installed``."""
    return _installed("psutil", "a sweep")


def _installed(package: str, feature: str) -> Any:
    """A package.

    Raises:
        UsageError: it is not installed; names the command that installs it.
    """
    if find_spec(package) is None:
        raise UsageError(f"{feature} needs {package}: {from_index(package)} (the extra arm-tosa-core[sweep] brings it)")
    return import_module(package)
