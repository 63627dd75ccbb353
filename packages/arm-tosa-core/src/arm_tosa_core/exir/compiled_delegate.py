"""What a target's compiler says of a delegate; without PyTorch, so that commands start fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..plugin.target import Compiled, CompiledLayer, LiveTensor, Moved
from ..tosa.ir import Origin, Tensor

#: What reports call ``Reporting.timing``.
TIMING_MODEL = "timing model"


@dataclass(frozen=True)
class Live(LiveTensor):
    """A tensor or a buffer in on-chip memory, and where it comes from.

    Args:
        made_by: the TOSA operator that makes it, ``input``, or nothing for a buffer.
        source: the user's source line, if known.
        node: of the exported program that it comes from, if known.
    """

    made_by: str = ""
    source: str = ""
    node: str = ""


@dataclass(frozen=True)
class Layer:
    """An operator of a payload, as the target's compiler counts them.

    Args:
        kind: what the compiler calls it.
        node: of the exported program that it comes from; empty: of none.
        operator: what ATen calls that one.
        module: where it is in the model, as ``named_modules`` has it.
        source: the user's source line, if known.
        cycles: estimated; where several run as one, they count with one of them.
        macs: multiplications and accumulations.
        bytes: read from and written to memories outside of the device's core.
        bound: the unit or memory that decides its time; empty: the compiler does not say.
    """

    kind: str
    node: str
    operator: str
    module: str
    source: str
    cycles: float
    macs: int
    bytes: int
    bound: str = ""


@dataclass(frozen=True)
class CompiledDelegate:
    """What the target's compiler says of a delegate.

    Args:
        figures: what it predicts, by name, as ``Reporting.estimate`` does; nothing if it does not.
        at_peak: what is in on-chip memory when most of it is in use, if it says so.
        layers: in order, if it says so.
        in_memory: all that is in on-chip memory at any time, if it says so.
        cycles_by: whose estimate the cycles in ``figures`` are; empty: the compiler's.
        estimated_by: whose estimate the other figures are, and those of ``layers``; empty: the compiler's.
        notes: what figures and layers leave out, a line each.
        moved: bytes between core and memories, by memory and kind, if it says so.
    """

    figures: dict[str, float] = field(default_factory=dict)
    at_peak: list[Live] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    in_memory: list[Live] = field(default_factory=list)
    cycles_by: str = ""
    estimated_by: str = ""
    notes: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)

    def timed(self, cycles: float) -> CompiledDelegate:
        """With the cycles of the target's timing model in place of the compiler's."""
        return replace(self, figures={**self.figures, "cycles": cycles}, cycles_by=TIMING_MODEL)

    @staticmethod
    def of(compiled: Compiled, names: Mapping[str, Tensor]) -> CompiledDelegate:
        """That of a graph which was serialized with these names of tensors."""
        at_peak, in_memory = (
            [_live(tensor, names.get(tensor.name)) for tensor in tensors]
            for tensors in (compiled.at_peak, compiled.in_memory)
        )
        layers = [_layer(layer, names.get(layer.tensor)) for layer in compiled.layers]
        by, notes = compiled.estimated_by, list(compiled.notes)
        return CompiledDelegate(dict(compiled.figures), at_peak, layers, in_memory, by, by, notes, list(compiled.moved))


_NOWHERE = Origin("", "")


def origin_of(tensor: Tensor | None) -> Origin:
    """Where a tensor comes from; fields are empty if nobody says."""
    maker = None if tensor is None else tensor.producer
    return maker.origin if maker is not None and maker.origin is not None else _NOWHERE


def _live(tensor: LiveTensor, known: Tensor | None) -> Live:
    maker = "" if known is None else "input" if known.producer is None else known.producer.name
    origin = origin_of(known)
    return Live(**vars(tensor), made_by=maker, source=origin.source, node=origin.node)


def _layer(layer: CompiledLayer, known: Tensor | None) -> Layer:
    o = origin_of(known)
    place = (o.node, o.target, o.module, o.source)
    return Layer(layer.kind, *place, layer.cycles, layer.macs, layer.bytes, layer.bound)
