"""The package ``arm_runtime``, in a process that runs a program."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .errors import UsageError
from .install_advice import from_here

Arrays = list[np.ndarray[Any, Any]]
RUNTIME = "arm-runtime-cpp"


def remedy(*, again: bool = False) -> str:
    """The command that installs the runtime, or a place where it can be installed.

    Args:
        again: it is there, and broken.
    """
    if sys.platform == "linux":
        return from_here(RUNTIME, again=again)
    return f"{RUNTIME} is for Linux: run programs in a container or a virtual machine; compiling needs neither"


def import_runtime(purpose: str) -> Any:
    """The package ``arm_runtime``, whose import registers the delegates in this process.

    Raises:
        UsageError: it is not installed, or does not import.
    """
    if find_spec("arm_runtime") is None:
        raise UsageError(f"{purpose} needs the runtime: {remedy()}")
    try:
        runtime = import_module("arm_runtime")
        _ = runtime.LIBRARY  # an ImportError without ExecuTorch
        return runtime
    except (ImportError, OSError) as error:
        raise UsageError(f"{purpose} needs the runtime, which is installed but does not load: {error}") from error
