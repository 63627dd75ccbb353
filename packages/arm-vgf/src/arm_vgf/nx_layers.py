"""The steps of the NX estimator as layers of the TOSA graph: whose operator each result of the VGF's module is.

The model converter writes the operators of a graph into the module in their order, without names. That is relied on
only where everything agrees: the number of operators, their kinds, and which reads whose result.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from arm_tosa_core.plugin.target import Compiled, CompiledLayer
from arm_tosa_core.support.memory_size import kib
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.operator_classes import CONVOLUTIONS, MOVES

from .graph_code import operators_of
from .nx_databases import NxEstimate, NxOperator
from .nx_estimator import ADVICE, ESTIMATOR

#: Operators that prepare what others compute, or write it down: a layer is named after others where it has them.
_AROUND = frozenset(("CAST", "CLAMP", "RESCALE", *MOVES))
#: The kind of a layer that has no cycles.
UNRATED = "on shaders, not rated"


def in_detail(vgf: bytes, tosa: bytes, estimate: NxEstimate | None) -> Compiled:
    """A VGF with what the estimator says of it, and what it does not say.

    Args:
        tosa: the flatbuffer that the VGF was converted from.
        estimate: None: the estimator is not installed.
    """
    if estimate is None:
        return Compiled(vgf, notes=[f"cycles, milliseconds and DRAM on a neural accelerator are not known: {ADVICE}"])
    if not estimate.figures:
        why = estimate.problem or "it rates integer operators only, and all of these run on the GPU's shaders"
        return Compiled(vgf, notes=[f"the {ESTIMATOR} tells nothing: {why}"])
    try:
        if estimate.problem:
            raise Disagreement(estimate.problem)
        operators = results_in(vgf, load(tosa))
        layers = layers_of(estimate, operators)
    except Disagreement as error:
        layers, notes = [], [f"no cycles of single operators: {error}"]
        names = {each.kind for shader in estimate.unrated for each in shader}
        moved = ""
    else:
        notes = []
        names = {operators[each.id].name for shader in estimate.unrated for each in shader}
        size = sum(layer.bytes for layer in layers if layer.kind.endswith(UNRATED))
        moved = f"; they read and write {kib(size) if size >= 1024 else f'{size} bytes'}"
    if count := len({each for shader in estimate.unrated for each in shader}):
        kinds = ", ".join(sorted(names))
        notes.append(f"{count} operators run on the GPU's shaders, which the {ESTIMATOR} does not rate: {kinds}{moved}")
    return Compiled(vgf, estimate.figures, layers=layers, estimated_by=ESTIMATOR, notes=notes)


class Disagreement(ValueError):
    """The module is not the graph, operator by operator."""


def layers_of(estimate: NxEstimate, operators: Mapping[int, Op]) -> list[CompiledLayer]:
    """A layer for each step, and one without cycles for each shader, which is not rated.

    A step of several operators counts with the one that multiplies most, else with the first that computes.

    Args:
        operators: of the graph, as of ``results_in``.

    Raises:
        Disagreement: in a few words.
    """
    layers, counted = [], set[Op]()
    for step in estimate.steps:
        for each in step.operators:
            if each.id not in operators or operators[each.id].name != each.kind:
                raise Disagreement(f"result {each.id} of the module is no {each.kind}")
        ops = _in_order(step.operators, operators)
        main = max(ops, key=lambda op: (macs_of(op), op.name not in _AROUND, -op.position))
        macs = sum(macs_of(op) for op in ops if op not in counted)
        counted.update(ops)
        kind = " + ".join(op.name for op in ops)
        layers.append(CompiledLayer(kind, main.outputs[0].name, step.cycles, macs, step.bytes, step.bound))
    for shader in estimate.unrated:
        # Release 0.2.1 calls a SELECT on shaders a SIN: there the result alone says which operator it is.
        if strange := [each.id for each in shader if each.id not in operators]:
            raise Disagreement(f"the module has no result {strange[0]}")
        ops = _in_order(shader, operators)
        kind = f"{' + '.join(op.name for op in ops)} {UNRATED}"
        main = max(ops, key=lambda op: (op.name not in _AROUND, -op.position))
        layers.append(CompiledLayer(kind, main.outputs[0].name, 0.0, bytes=_moved(ops)))
    return layers


def _in_order(named: Sequence[NxOperator], operators: Mapping[int, Op]) -> list[Op]:
    return sorted({operators[each.id] for each in named}, key=lambda op: op.position)


def _moved(ops: Sequence[Op]) -> int:
    """Bytes of what operators read of others and of constants, and of what others read of them."""
    inside = set(ops)
    read = {x for op in ops for x in op.inputs if x.producer not in inside}
    made = {y for op in ops for y in op.outputs if not y.uses or any(use not in inside for use in y.uses)}
    return sum(tensor.size * tensor.dtype.bits // 8 for tensor in (*read, *made) if tensor.dtype is not DType.SHAPE)


def results_in(vgf: bytes, graph: Graph) -> dict[int, Op]:
    """The operators of a graph by the numbers of their results in the module of a VGF.

    Raises:
        Disagreement: the module has other operators.
    """
    try:
        emitted, ops = operators_of(vgf), list(graph.ops)
    except (ValueError, IndexError, struct.error) as error:
        raise Disagreement(f"the module cannot be read ({type(error).__name__}: {error})") from error
    if len(emitted) != len(ops):
        raise Disagreement(f"the module has {len(emitted)} operators, and the graph {len(ops)}")
    found: dict[int, Op] = {}
    kinds: dict[int, str] = {}
    for number, (operator, op) in enumerate(zip(emitted, ops, strict=True)):
        if kinds.setdefault(operator.kind, op.name) != op.name:
            raise Disagreement(f"operator {number} of the graph, {op.name}, is another one in the module")
        read = [found[result] for result in operator.reads if result in found]
        if read != [maker for tensor in op.inputs if (maker := _maker(tensor)) is not None]:
            raise Disagreement(f"operator {number} of the graph, {op.name}, reads other results in the module")
        found[operator.result] = op
    if len(set(kinds.values())) != len(kinds):
        raise Disagreement("the module has operators of two kinds that are of one in the graph")
    return found


def _maker(tensor: Tensor) -> Op | None:
    return None if tensor.is_constant else tensor.producer


def macs_of(op: Op) -> int:
    """Multiplications and accumulations of an operator."""
    if op.name == "MATMUL":
        return op.output.size * op.inputs[0].shape[-1]
    if op.name not in CONVOLUTIONS:
        return 0
    weight = op.inputs[1]
    if op.name == "DEPTHWISE_CONV2D":  # [height, width, channels, multiplier]
        return op.output.size * weight.shape[0] * weight.shape[1]
    pixels = op.inputs[0] if op.name == "TRANSPOSE_CONV2D" else op.output
    return pixels.size // pixels.shape[-1] * weight.size
