"""Partitioner that delegates to Ethos-U."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arm_tosa_core.exir.partitioner import TOSAPartitioner
from arm_tosa_core.support.errors import UsageError

from .compile_spec import EthosUCompileSpec

if TYPE_CHECKING:
    from torch.fx.passes.operator_support import OperatorSupportBase


class EthosUPartitioner(TOSAPartitioner):
    """Delegates to Ethos-U every operator that the accelerator of the compile spec takes.

    Args:
        compile_spec: the accelerator and Vela's options.
        additional_checks: operator support checks of the user's own; a node that one refuses stays on the CPU.

    Raises:
        UsageError: the compile spec is for another target.
    """

    def __init__(
        self, compile_spec: EthosUCompileSpec, additional_checks: Sequence[OperatorSupportBase] | None = None
    ) -> None:
        if not isinstance(compile_spec, EthosUCompileSpec):
            raise UsageError(f"EthosUPartitioner takes an EthosUCompileSpec, not {type(compile_spec).__name__}")
        super().__init__(compile_spec, additional_checks)
