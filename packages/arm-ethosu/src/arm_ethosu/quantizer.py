"""Quantizer for Ethos-U."""

from __future__ import annotations

from arm_tosa_core.quantize.annotate.wide_results import Wide
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.executorch_names import OneQuantizer

from .compile_spec import EthosUCompileSpec


class EthosUQuantizer(TOSAQuantizer):
    """Annotates what the accelerator of the compile spec computes in integers.

    Args:
        compile_spec: the accelerator and Vela's options.
        use_composable_quantizer: changes nothing.
        wide: as ``TOSAQuantizer`` takes it.

    Raises:
        UsageError: the compile spec is for another target.
    """

    def __init__(
        self,
        compile_spec: EthosUCompileSpec,
        use_composable_quantizer: OneQuantizer = True,
        *,
        wide: Wide = "residuals",
    ) -> None:
        if not isinstance(compile_spec, EthosUCompileSpec):
            raise UsageError(f"EthosUQuantizer takes an EthosUCompileSpec, not {type(compile_spec).__name__}")
        super().__init__(compile_spec, wide=wide)
