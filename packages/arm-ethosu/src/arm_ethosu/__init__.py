"""Arm Ethos-U55, Ethos-U65 and Ethos-U85 as targets of ``arm_tosa_core``, compiled by Vela.

The names below are imported on first use (PEP 562), so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import EthosUBackend
    from .builder import ArmCompileSpecBuilder
    from .compile_spec import EthosUCompileSpec
    from .external_blocks import VelaExternalBlockPlacements
    from .partitioner import EthosUPartitioner
    from .quantizer import EthosUQuantizer

__all__ = [
    "ArmCompileSpecBuilder",
    "EthosUBackend",
    "EthosUCompileSpec",
    "EthosUPartitioner",
    "EthosUQuantizer",
    "VelaExternalBlockPlacements",
]

_MODULES = {
    "ArmCompileSpecBuilder": "builder",
    "EthosUBackend": "backend",
    "EthosUCompileSpec": "compile_spec",
    "EthosUPartitioner": "partitioner",
    "EthosUQuantizer": "quantizer",
    "VelaExternalBlockPlacements": "external_blocks",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
