"""Arm Ethos-U55, Ethos-U65 and Ethos-U85 as targets of ``arm_tosa_core``, compiled by Vela.

The names below are imported on first use (PEP 562), so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arm_tosa_core.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from .backend import EthosUBackend as EthosUBackend
    from .compile_spec import EthosUCompileSpec as EthosUCompileSpec
    from .external_blocks import VelaExternalBlockPlacements as VelaExternalBlockPlacements
    from .partitioner import EthosUPartitioner as EthosUPartitioner
    from .quantizer import EthosUQuantizer as EthosUQuantizer

_HOME = {
    "EthosUBackend": "backend",
    "EthosUCompileSpec": "compile_spec",
    "EthosUPartitioner": "partitioner",
    "EthosUQuantizer": "quantizer",
    "VelaExternalBlockPlacements": "external_blocks",
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME, globals())
