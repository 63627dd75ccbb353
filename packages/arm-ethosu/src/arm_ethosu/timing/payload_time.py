"""The estimate of a payload as ``Reporting.timing`` wants it: by operators, with Vela's figures beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arm_tosa_core.plugin.timing import OperatorTime, TimeEstimate, UnitSpan
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa.loader import Listed, listed_operators

from ..accelerators import DEFAULTS, family_of
from ..command_stream.container import Bytes, accelerator_of
from ..command_stream.operations import decode
from ..payload import unpack
from ..vela import VelaOutput
from ..vela_layers import FLAG, Layers, read_layers
from .estimate import estimate_stream
from .system import System, system_of
from .timeline import KernelTime, Timeline

_OTHERS = "(no operator of the graph)"


def time_payload(
    payload: bytes, tosa: bytes | None, options: Mapping[str, Any], again: Callable[[bytes], VelaOutput]
) -> TimeEstimate:
    """How long a payload takes.

    Args:
        payload: of the EthosU delegate.
        tosa: the graph that it was compiled from: Vela compiles it once more, to tell which commands are whose.
        options: arguments of ``vela.compile`` but for the flatbuffer; those of the payload's own accelerator count
            where it was compiled for another one.
        again: compiles a flatbuffer as the payload was; writes a debug database.

    Raises:
        UsageError: it is no such payload.
        ToolError: Vela fails.
    """
    commands = unpack(payload)["cmd_data"]
    accelerator = accelerator_of(commands) or options["accelerator"]
    system = _system(accelerator, options)
    asked = _ask(tosa, again) if tosa is not None and accelerator == options["accelerator"] else None
    timeline = estimate_stream(commands, accelerator, system, asked.layers.kernels if asked is not None else ())
    if asked is None or tosa is None or len(asked.layers.kernels) != _kernel_count(commands):
        return TimeEstimate(timeline.cycles, timeline.clock, system.name, spans=_spans(timeline))
    operators = _operators(timeline, asked.layers, listed_operators(tosa))
    return TimeEstimate(timeline.cycles, timeline.clock, system.name, operators, _spans(timeline), "Vela", asked.cycles)


def _kernel_count(commands: Bytes) -> int:
    return sum(op.is_kernel for op in decode(commands))


def _system(accelerator: str, options: Mapping[str, Any]) -> System:
    if accelerator == options["accelerator"]:
        return system_of(accelerator, options["system_config"], options["memory_mode"], options["config"])
    defaults = DEFAULTS[family_of(accelerator)]
    return system_of(accelerator, defaults.system_config, defaults.memory_mode)


@dataclass(frozen=True)
class _Asked:
    """What Vela says of a graph: its layers, and its estimate of the whole."""

    layers: Layers
    cycles: float


def _ask(tosa: bytes, again: Callable[[bytes], VelaOutput]) -> _Asked:
    output = again(tosa)
    if not output.debug_db:
        raise ToolError("vela", f"wrote no debug database, although asked with {FLAG}")
    return _Asked(read_layers(output.debug_db, output.arrays["cmd_data"]), output.cycles)


def _operators(timeline: Timeline, layers: Layers, listed: Sequence[Listed]) -> list[OperatorTime]:
    """One for each layer; the last one has what belongs to none, if there is such."""
    by_layer: dict[int | None, list[KernelTime]] = {}
    for kernel in timeline.kernels:
        by_layer.setdefault(kernel.operator, []).append(kernel)
    rows = []
    for number, layer in enumerate(layers.layers):
        kernels = by_layer.get(number, [])
        known = layer.tosa is not None and layer.tosa < len(listed)
        _, source, tensor = listed[layer.tosa] if known and layer.tosa is not None else ("", "", "")
        cycles = sum(kernel.cycles for kernel in kernels)
        name, bound = f"{layer.kind} {layer.result}", _bound(kernels)
        rows.append(OperatorTime(name, source, cycles, bound, layer.cycles, tensor))
    ended = timeline.kernels[-1].end if timeline.kernels else 0.0
    rest = sum(kernel.cycles for kernel in by_layer.get(None, [])) + timeline.cycles - ended
    return [*rows, *([OperatorTime(_OTHERS, "", rest)] if rest > 0.5 else [])]


def _bound(kernels: Sequence[KernelTime]) -> str:
    """What decides most of the cycles; ``DMA`` where kernels wait for transfers."""
    weights: dict[str, float] = {}
    for kernel in kernels:
        weights["DMA"] = weights.get("DMA", 0.0) + min(kernel.waited, kernel.cycles)
        weights[kernel.bound] = weights.get(kernel.bound, 0.0) + max(0.0, kernel.cycles - kernel.waited)
    return max(weights, key=lambda name: weights[name]) if weights else ""


def _spans(timeline: Timeline) -> list[UnitSpan]:
    return [UnitSpan(span.unit.value, span.begin, span.end, span.name, span.operator) for span in timeline.spans]
