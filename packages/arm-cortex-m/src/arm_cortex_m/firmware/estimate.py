"""What a model takes on a core: an estimate of its instructions and cycles, and the memory that firmware sets aside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from arm_tosa_core.plugin.target import Compiled, CompiledLayer, LiveTensor
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.support.memory_size import size_of
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op
from arm_tosa_core.tosa.loader import load

from ..cores import Core
from .kernels.kernel import element_operations
from .memory import Arena
from .model import Called, Model, Operator, Value
from .processor_steps import model_of_graph
from .step_counts import form_and_counts

#: What tables call the source of the figures.
ESTIMATED_BY = "table of instructions"
#: The option for the clock of a user's chip, MHz.
CLOCK = "clock_mhz"
#: The option for the SRAM of a user's chip, such as 256K.
SRAM = "sram_size"
_TABLE = Path(__file__).with_name("step_costs.json")
_OTHERS = "others"
_DEPTHWISE = ("DEPTHWISE_CONV2D",)
_PRODUCTS = ("CONV2D", "DEPTHWISE_CONV2D", "MATMUL", "TRANSPOSE_CONV2D")
_KIB = 1024


def compiled(core: Core, tosa: bytes, options: Mapping[str, str]) -> Compiled:
    """The flatbuffer, which is the payload itself, and the estimate.

    Raises:
        UsageError: the clock is no number of MHz, the size of SRAM is none, or the model takes more.
    """
    graph = load(tosa)
    model = model_of_graph(graph, core.name)
    layers = [_layer(step, core) for step in model.operators]
    instructions = sum(step_instructions(step, core) for step in model.operators)
    clock = _clock(core, options)
    in_memory = list(_in_memory(graph, model))
    figures = {
        "cycles": sum(layer.cycles for layer in layers),
        "instructions": instructions,
        "clock_hz": clock,
        **_memory(in_memory, model),
    }
    _require_room(figures["sram_kib"], core, options)
    where = f"option {CLOCK}" if CLOCK in options else f"that of {core.chip}; for another: --option {CLOCK}=NUMBER"
    note = (
        f"cycles are estimated from the instructions of each kernel, where memory has no waits, at {clock / 1e6:g} MHz "
        f"({where}); SRAM has inputs and outputs, flash lacks the code"
    )
    return Compiled(tosa, figures, _at_peak(in_memory), layers, in_memory, ESTIMATED_BY, (note,))


def figures(core: Core, tosa: bytes) -> Mapping[str, float]:
    """The figures of ``Reporting.estimate``."""
    return compiled(core, tosa, {}).figures


def step_instructions(step: Called | Operator, core: Core) -> float:
    """Instructions of a step, estimated."""
    factors = factors_of(core)
    form, counts = form_and_counts(step, core.vectors)
    if form not in factors:
        form, counts = _OTHERS, (sum(map(element_operations, step.ops)), step.ops[-1].output.size, 1)
    return sum(factor * count for factor, count in zip(factors[form], counts, strict=True))


def step_cycles(step: Called | Operator, core: Core) -> float:
    """Cycles of a step, estimated."""
    depthwise = isinstance(step, Called) and any(op.name in _DEPTHWISE for op in step.ops)
    each = core.cycles_of_function if isinstance(step, Called) else core.cycles
    return step_instructions(step, core) * (core.cycles_of_depthwise if depthwise else each)


def require_options(core: Core, options: Mapping[str, str]) -> None:
    """Judges options before a model is compiled.

    Raises:
        UsageError: the clock is no number of MHz, or the size of SRAM is none.
    """
    _clock(core, options)
    if SRAM in options:
        size_of(options[SRAM], SRAM)


def factors_of(core: Core) -> dict[str, list[float]]:
    """By form, a factor for each count (``benchmarks/cortex_m_costs.py``)."""
    return _table()[core.vectors]


@cache
def _table() -> dict[str, dict[str, list[float]]]:
    table: dict[str, dict[str, list[float]]] = json.loads(_TABLE.read_text("utf-8"))
    return table


def _layer(step: Called | Operator, core: Core) -> CompiledLayer:
    macs = sum(element_operations(op) for op in step.ops if op.name in _PRODUCTS)
    moved = sum(value.size for value in (*step.reads, *step.makes))
    kind = " + ".join(op.name for op in step.ops)
    return CompiledLayer(kind, _main(step.ops).output.name, step_cycles(step, core), macs, moved)


def _main(ops: tuple[Op, ...]) -> Op:
    """The operator whose place in the model tells most of these."""
    return max(ops, key=lambda op: (op.name != "RESCALE", element_operations(op)))


def _clock(core: Core, options: Mapping[str, str]) -> float:
    text = options.get(CLOCK, str(core.clock_mhz))
    try:
        clock = float(text)
    except ValueError:
        clock = 0.0
    if not 0 < clock < 1e5:
        raise UsageError(f"option {CLOCK} of target {core.name!r} is a number of MHz, such as 160, not {text!r}")
    return clock * 1e6


def _require_room(taken_kib: float, core: Core, options: Mapping[str, str]) -> None:
    if SRAM in options and taken_kib * _KIB > size_of(options[SRAM], SRAM):
        raise UsageError(
            f"{SRAM}={options[SRAM]} is missed: on {core.name} tensors, with inputs and outputs, take "
            f"{taken_kib:,.1f} KiB of SRAM"
        )


def _memory(in_memory: list[LiveTensor], model: Model) -> dict[str, float]:
    ports = sum(port.size for port in (*model.inputs, *model.outputs)) / _KIB
    constants = model.constant_bytes["constants"] / _KIB
    return {
        "sram_kib": Arena(model).size / _KIB + ports,
        "tensors_kib": Arena(model).size / _KIB + ports,
        "flash_kib": constants,
        "constants_in_flash_kib": constants,
    }


def _in_memory(graph: Graph, model: Model) -> Iterator[LiveTensor]:
    """Inputs and outputs, which are the application's, and what the arena holds; of steps, from 0."""
    arena, last = Arena(model), len(model.steps) - 1
    made: dict[Value, int] = {}
    for number, step in enumerate(model.operators):
        made.setdefault(step.output.root, number)
    read = {value.root: number for number, step in enumerate(model.steps) for value in step.reads}
    for tensor, value, port in zip(graph.inputs, model.taken, model.inputs, strict=True):
        yield LiveTensor(tensor.name, port.size, 0, max(0, read.get(value, 0)))
    for tensor, value, port in zip(graph.outputs, model.given, model.outputs, strict=True):
        yield LiveTensor(tensor.name, port.size, made.get(value, last), max(0, last))
    for value, at in arena.values.items():
        for span in arena.spans[value]:
            yield LiveTensor(model.operators[span[0]].ops[-1].output.name, value.size, *span, at)
    for number, step in enumerate(model.operators):
        if isinstance(step, Called) and step.scratch:
            yield LiveTensor(f"scratch of step {number + 1}", step.scratch, number, number, arena.scratch(step))


def _at_peak(tensors: list[LiveTensor]) -> list[LiveTensor]:
    """Those of the step at which they are the most bytes."""
    steps = {tensor.first for tensor in tensors}
    live = [[tensor for tensor in tensors if tensor.first <= step <= tensor.last] for step in sorted(steps)]
    return max(live, key=lambda each: sum(tensor.size for tensor in each), default=[])
