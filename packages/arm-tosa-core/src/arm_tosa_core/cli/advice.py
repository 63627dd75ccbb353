"""``compile --advice``: what would make the program faster, and ``compile``'s line about what takes the time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console

from ..exir.compiled_delegate import CompiledDelegate
from .chip import has_chip
from .progress import progress
from .report import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..advice.advise import Advised
    from ..exir.compile_spec import ArmCompileSpec
    from ..flow import LoweredProgram
    from .quantize import Prepared

#: Modules that the line about the time names.
_LONGEST = 3


def advised(
    prepared: Prepared, lowered: LoweredProgram, spec: ArmCompileSpec, memory_format: str, integer_io: bool
) -> Advised:
    """Tries what may make a compiled program faster."""
    from ..advice.advise import try_changes
    from ..advice.candidate import Request

    quantized = (prepared.quantizer, prepared.samples, prepared.decisions)
    fixed = frozenset({"accelerator"} if has_chip() else ())
    request = Request(prepared.original, spec, *quantized, memory_format, integer_io, fixed)
    with progress() as shown:
        return try_changes(request, lowered, prepared.program, progress=lambda *step: shown("trying changes", *step))


def with_advice(result: Result, advice: Advised) -> Result:
    """The result of compiling, with advice."""

    def show(console: Console) -> None:
        result.show(console)
        console.print(str(advice), markup=False, highlight=False, soft_wrap=True)

    return Result({**result.data, "advice": advice.to_json()}, show, result.status)


def longest(delegates: Sequence[CompiledDelegate]) -> str:
    """The modules that take most of the time, in a line; empty: nobody says."""
    cycles: Counter[str] = Counter()
    for delegate in delegates:
        for layer in delegate.layers:
            name = layer.module or layer.node
            cycles[f"`{name}`" if name else "other work"] += round(layer.cycles)
    whole = cycles.total()
    if not whole:
        return ""
    shares = [(name, f"{count / whole:.0%}") for name, count in cycles.most_common(_LONGEST)]
    return f"most of the cycles: {', '.join(f'{name} {share}' for name, share in shares if share != '0%')}"
