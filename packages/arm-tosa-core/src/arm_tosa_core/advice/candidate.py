"""What is compiled, and a change of it that may save time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..exir.compile_spec import ArmCompileSpec
from ..exir.compiled_delegate import Layer
from ..exir.report import Report

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from ..quantize.decisions import Decision
    from ..quantize.quantizer import TOSAQuantizer


@dataclass(frozen=True)
class Request:
    """What is compiled, and how.

    Args:
        program: as it was exported, before quantization.
        spec: the target and its options.
        quantizer: what quantizes the program; None: it is compiled as it is.
        samples: calls of the model that it is calibrated with.
        decisions: what quantization decided.
        memory_format: a key of ``MEMORY_FORMATS``.
        integer_io: as of ``lower``.
        fixed: groups of candidates that are not tried, such as ``accelerator`` where a chip has one.
    """

    program: ExportedProgram
    spec: ArmCompileSpec
    quantizer: TOSAQuantizer | None = None
    samples: Sequence[Any] = ()
    decisions: Sequence[Decision] = ()
    memory_format: str = "contiguous"
    integer_io: bool = False
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Candidate:
    """A change that may save time. Nobody hears of it before it was tried.

    Args:
        change: in a few words, such as ``4 input channels in place of 3``.
        make: the changed request. It may raise: the change is not possible then.
        command: options of ``arm-tosa compile`` that make the change; empty: it is one of the model.
        group: of several candidates of a group the best is told; empty: it is alone.
        modules: where in the model it is, as ``named_modules`` has it; empty: it is about the whole.
        what: those modules in words, such as ``3 channels, stride 2``.
        operators: of those modules, by their ATen names; empty: all.
        price: what else it costs, beside memory, such as training again.
    """

    change: str
    make: Callable[[Request], Request]
    command: str = ""
    group: str = ""
    modules: tuple[str, ...] = ()
    what: str = ""
    operators: frozenset[str] = frozenset()
    price: str = ""

    def has(self, layer: Layer) -> bool:
        """Whether a layer is of those that it is about."""
        return layer.module in self.modules and (not self.operators or layer.operator in self.operators)

    def share(self, report: Report) -> float:
        """The part of the cycles that it is about; 1: of the whole."""
        if not self.modules:
            return 1.0
        layers = [layer for delegate in report.compiled for layer in delegate.layers]
        whole = sum(layer.cycles for layer in layers)
        return sum(layer.cycles for layer in layers if self.has(layer)) / whole if whole else 0.0
