"""Quantizing a model for VGF."""

from __future__ import annotations

from arm_tosa_core.quantize.annotate.wide_results import Wide
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.quantize.schemes.config import QuantizationConfig, get_symmetric_quantization_config
from arm_tosa_core.support.executorch_names import OneQuantizer

from .compile_spec import VgfCompileSpec


class VgfQuantizer(TOSAQuantizer):
    """Annotates a model (PT2E) so that a ``VgfCompileSpec`` with the INT profile takes it.

    Args:
        compile_spec: of the later compile.
        use_composable_quantizer: changes nothing.
        wide: see ``TOSAQuantizer``.
    """

    def __init__(
        self, compile_spec: VgfCompileSpec, use_composable_quantizer: OneQuantizer = True, *, wide: Wide = "residuals"
    ) -> None:
        super().__init__(compile_spec, wide=wide)


def get_vgf_snorm_quantization_config(
    is_per_channel: bool = True,
    is_qat: bool = False,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    eps: float | None = None,
) -> QuantizationConfig:
    """int8 from -127 to 127, as images of Vulkan's SNORM formats hold them (-128 and -127 both read as -1 there).

    Arguments as ``get_symmetric_quantization_config``.
    """
    return get_symmetric_quantization_config(
        is_per_channel,
        is_qat,
        act_qmin=-127,
        act_qmax=127,
        weight_qmin=weight_qmin,
        weight_qmax=weight_qmax,
        eps=eps,
    )
