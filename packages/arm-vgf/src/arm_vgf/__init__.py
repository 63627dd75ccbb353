"""VGF (SPIR-V for Vulkan with Arm's tensor and data-graph extensions) as a target of ``arm_tosa_core``.

The names below are imported when they are first used: importing this package loads neither torch nor ExecuTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arm_tosa_core.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from .backend import VgfBackend
    from .compile_spec import VgfCompileSpec
    from .extract import extract_vgf
    from .partitioner import VgfPartitioner
    from .quantizer import VgfQuantizer, get_vgf_snorm_quantization_config
    from .shaders import Buffer, Image, Sampler, Shader, shader

__all__ = [
    "Buffer",
    "Image",
    "Sampler",
    "Shader",
    "VgfBackend",
    "VgfCompileSpec",
    "VgfPartitioner",
    "VgfQuantizer",
    "extract_vgf",
    "get_vgf_snorm_quantization_config",
    "shader",
]

_HOME = {
    "Buffer": "shaders",
    "Image": "shaders",
    "Sampler": "shaders",
    "Shader": "shaders",
    "shader": "shaders",
    "VgfBackend": "backend",
    "VgfCompileSpec": "compile_spec",
    "VgfPartitioner": "partitioner",
    "VgfQuantizer": "quantizer",
    "extract_vgf": "extract",
    "get_vgf_snorm_quantization_config": "quantizer",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME, globals())
