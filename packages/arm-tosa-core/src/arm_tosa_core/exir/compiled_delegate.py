"""What a target's compiler says of a delegate; without PyTorch, so that commands start fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..plugin.target import Compiled, LiveTensor
from ..tosa.ir import Tensor


@dataclass(frozen=True)
class Live:
    """Something in on-chip memory when most of it is in use.

    Args:
        name: of the tensor in the TOSA graph, or of a buffer of the target's own.
        size: bytes.
        made_by: the TOSA operator that makes it, ``input``, or nothing for a buffer.
        source: the user's source line, if known.
    """

    name: str
    size: int
    made_by: str = ""
    source: str = ""


@dataclass(frozen=True)
class CompiledDelegate:
    """What the target's compiler says of a delegate.

    Args:
        figures: what it predicts, by name, as ``Target.estimate`` does; nothing if it does not.
        at_peak: what is in on-chip memory when most of it is in use, if it says so.
    """

    figures: dict[str, float] = field(default_factory=dict)
    at_peak: list[Live] = field(default_factory=list)

    @staticmethod
    def of(compiled: Compiled, names: Mapping[str, Tensor]) -> CompiledDelegate:
        """That of a graph which was serialized with these names of tensors."""
        rows = [_live(tensor, names.get(tensor.name)) for tensor in compiled.at_peak]
        return CompiledDelegate(dict(compiled.figures), rows)


def _live(tensor: LiveTensor, known: Tensor | None) -> Live:
    if known is None:
        return Live(tensor.name, tensor.size)
    maker = known.producer
    source = maker.origin.source if maker is not None and maker.origin is not None else ""
    return Live(tensor.name, tensor.size, "input" if maker is None else maker.name, source)
