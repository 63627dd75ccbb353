"""The factories behind the ``arm_tosa.targets`` entry points.

There is one per accelerator, ``targets:ethos_u55_128`` and so on, made from ``accelerators.ACCELERATORS``.
"""

from __future__ import annotations

from collections.abc import Callable

from arm_tosa_core.plugin.target import Target

from .accelerators import ACCELERATORS
from .compile_spec import EthosUCompileSpec


def __getattr__(name: str) -> Callable[[], Target]:
    accelerator = name.replace("_", "-")
    if accelerator not in ACCELERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lambda: EthosUCompileSpec(accelerator).target()
