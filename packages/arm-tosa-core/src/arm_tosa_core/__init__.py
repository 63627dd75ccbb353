"""PyTorch models to TOSA: rules, quantizer, partitioner, serializer, and the door for targets.

Names are imported when they are used: ``import arm_tosa_core`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import TOSABackend as TOSABackend
    from .compile_spec import ArmCompileSpec as ArmCompileSpec
    from .compile_spec import TosaCompileSpec as TosaCompileSpec
    from .errors import ArmTosaError as ArmTosaError
    from .errors import LoweringError as LoweringError
    from .errors import Rejected as Rejected
    from .errors import ToolError as ToolError
    from .errors import UsageError as UsageError
    from .flow import LoweredProgram as LoweredProgram
    from .flow import lower as lower
    from .int64 import InsertCastForOpsWithInt64InputPass as InsertCastForOpsWithInt64InputPass
    from .partitioner import TOSAPartitioner as TOSAPartitioner
    from .quantizer import QuantizationConfig as QuantizationConfig
    from .quantizer import TOSAQuantizer as TOSAQuantizer
    from .quantizer import get_symmetric_a8w4_quantization_config as get_symmetric_a8w4_quantization_config
    from .quantizer import get_symmetric_a16w8_quantization_config as get_symmetric_a16w8_quantization_config
    from .quantizer import get_symmetric_quantization_config as get_symmetric_quantization_config
    from .quantizer import get_uint8_io_quantization_config as get_uint8_io_quantization_config
    from .quantizer import quantize_program as quantize_program
    from .registry import Q as Q
    from .registry import op as op
    from .rewrite import Rewrite as Rewrite
    from .rewrite import Stage as Stage
    from .specification import TosaSpecification as TosaSpecification
    from .target import Target as Target

_HOME = {
    "ArmCompileSpec": "compile_spec",
    "ArmTosaError": "errors",
    "InsertCastForOpsWithInt64InputPass": "int64",
    "LoweredProgram": "flow",
    "LoweringError": "errors",
    "Q": "registry",
    "QuantizationConfig": "quantizer",
    "Rejected": "errors",
    "Rewrite": "rewrite",
    "Stage": "rewrite",
    "TOSABackend": "backend",
    "TOSAPartitioner": "partitioner",
    "TOSAQuantizer": "quantizer",
    "Target": "target",
    "ToolError": "errors",
    "TosaCompileSpec": "compile_spec",
    "TosaSpecification": "specification",
    "UsageError": "errors",
    "get_symmetric_a16w8_quantization_config": "quantizer",
    "get_symmetric_quantization_config": "quantizer",
    "get_symmetric_a8w4_quantization_config": "quantizer",
    "get_uint8_io_quantization_config": "quantizer",
    "lower": "flow",
    "op": "registry",
    "quantize_program": "quantizer",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
