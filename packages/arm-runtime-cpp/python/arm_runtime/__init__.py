"""Runs programs that were compiled for Arm accelerators: importing it registers the delegates with ExecuTorch.

    import arm_runtime
    from executorch.runtime import Runtime

    outputs = Runtime.get().load_program("model.pte").load_method("forward").execute([x])

The delegates are ``EthosUBackend``, which runs what Vela compiled on a functional model of the accelerator, and
``VgfBackend``, which runs VGF through Vulkan. Without the package ``executorch`` there are no delegates;
``arm_runtime.vgf`` needs numpy alone.
"""

from __future__ import annotations

import ctypes
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent

__all__ = ["FOLDER", "LIBRARY"]


def _executorch() -> list[Path]:
    """The folders of ExecuTorch's libraries; none where the executorch package is missing."""
    spec = find_spec("executorch")
    return [Path(folder, "lib") for folder in (spec and spec.submodule_search_locations) or ()]


def _load() -> ctypes.CDLL:
    """Loads the delegates into this process; they register themselves with ExecuTorch's runtime.

    Raises:
        OSError: the executorch package has no runtime library.
    """
    # Loaded first, by path: ours then finds them by name wherever the two packages are installed.
    for folder in EXECUTORCH:
        for name in ("libexecutorch_threadpool.so", "libexecutorch.so"):
            ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(FOLDER / "lib" / "libarm_runtime.so"))


EXECUTORCH = _executorch()
if EXECUTORCH:
    #: The library with the delegates, and the C interface ``include/arm_runtime/ethosu_payload_c.h``.
    LIBRARY = _load()


def __getattr__(name: str) -> ctypes.CDLL:
    """What is not there without ExecuTorch.

    Raises:
        ImportError: it was asked for the library with the delegates.
    """
    if name == "LIBRARY":
        raise ImportError("the delegates of arm_runtime need ExecuTorch: pip install 'executorch>=1.5,<1.6'")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
