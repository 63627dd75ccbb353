"""The quantizer and its configurations, by the names that ExecuTorch's users know."""

from .quantize.annotate import Wide
from .quantize.config import (
    QuantizationConfig,
    get_symmetric_a8w4_quantization_config,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    get_uint8_io_quantization_config,
)
from .quantize.post_training import Quantized, quantize_program
from .quantize.quantizer import TOSAQuantizer

__all__ = [
    "QuantizationConfig",
    "Quantized",
    "TOSAQuantizer",
    "Wide",
    "get_symmetric_a8w4_quantization_config",
    "get_symmetric_a16w8_quantization_config",
    "get_symmetric_quantization_config",
    "get_uint8_io_quantization_config",
    "quantize_program",
]
