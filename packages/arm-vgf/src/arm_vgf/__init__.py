"""VGF (SPIR-V for Vulkan with Arm's tensor and data-graph extensions) as a target of ``arm_tosa_core``.

The names below are imported when they are first used: importing this package loads neither torch nor ExecuTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arm_tosa_core.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from .backend import VgfBackend as VgfBackend
    from .compile_spec import VgfCompileSpec as VgfCompileSpec
    from .extract import extract_vgf as extract_vgf
    from .partitioner import VgfPartitioner as VgfPartitioner
    from .quantizer import VgfQuantizer as VgfQuantizer
    from .quantizer import get_vgf_snorm_quantization_config as get_vgf_snorm_quantization_config
    from .shaders import Buffer as Buffer
    from .shaders import Image as Image
    from .shaders import Sampler as Sampler
    from .shaders import Shader as Shader
    from .shaders import shader as shader

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

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazy_names(__name__, _HOME, globals())
