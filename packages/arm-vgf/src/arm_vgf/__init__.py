"""VGF (SPIR-V for Vulkan with Arm's tensor and data-graph extensions) as a target of ``arm_tosa_core``.

The names below are imported when they are first used: importing this package loads neither torch nor ExecuTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backend import VgfBackend
    from .compile_spec import VgfCompileSpec
    from .extract import extract_vgf
    from .partitioner import VgfPartitioner
    from .quantizer import VgfQuantizer, get_vgf_snorm_quantization_config

__all__ = [
    "VgfBackend",
    "VgfCompileSpec",
    "VgfPartitioner",
    "VgfQuantizer",
    "extract_vgf",
    "get_vgf_snorm_quantization_config",
]

_HOME = {
    "VgfBackend": "backend",
    "VgfCompileSpec": "compile_spec",
    "VgfPartitioner": "partitioner",
    "VgfQuantizer": "quantizer",
    "extract_vgf": "extract",
    "get_vgf_snorm_quantization_config": "quantizer",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
