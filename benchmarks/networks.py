"""The networks that are measured, for ``arm-tosa``: ``benchmarks/networks.py:ds_cnn``.

Those of ``tests/models``, and those of ``benchmarks/real`` where their packages are installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.registry import NETWORKS, network

Made = tuple[Any, tuple[Any, ...]]


def __getattr__(name: str) -> Callable[[], Made]:
    """A function that makes the network of a name, and example inputs."""
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda: _made(name)


def _made(name: str) -> Made:
    if name in NETWORKS:
        module, inputs = network(name)
        return module, inputs(0)
    from benchmarks.real.registry import NETWORKS as REAL

    made = REAL[name].make()
    return made.module, tuple(made.calibration[0])
