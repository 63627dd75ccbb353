"""Tensors alive at a time: by the order of a graph's operators, and by Vela's placement."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor

from .operator_classes import AT_THE_OUTPUT, KEPT_IN_ROWS

#: Operators whose results are their operands in another shape.
_SAME_BYTES = {"RESHAPE", "IDENTITY"}
_BRICK = 16


def operator_peak(graph: Graph) -> int:
    """Bytes of the tensors alive at once, at most, where each operator runs as a whole, in the order of the graph.

    A first guess at Vela's SRAM if it splits no operator; it leaves out weights on their way.
    """
    times = _times(graph)
    begins: dict[Tensor, int] = dict.fromkeys(graph.inputs, 0)
    ends: dict[Tensor, int] = {}
    owner: dict[Tensor, Tensor] = {}
    for op in graph.ops:
        for tensor in op.inputs:
            if not tensor.is_constant:
                ends[owner.get(tensor, tensor)] = times[op]
        for tensor in op.outputs:
            if op.inputs and (op.name in _SAME_BYTES or _is_read_wider(op)):
                owner[tensor] = owner.get(op.inputs[0], op.inputs[0])
            else:
                begins[tensor] = times[op]
    for tensor in graph.outputs:
        ends[owner.get(tensor, tensor)] = len(times) + 1
    lives = [(begin, ends.get(t, begin), _bytes(t)) for t, begin in begins.items() if not _is_passed_on(graph, t)]
    return max(_sums(lives), default=0)


def _times(graph: Graph) -> dict[Op, int]:
    """When each operator runs; those at the output of another run with it."""
    times: dict[Op, int] = {}
    for number, op in enumerate(graph.ops, start=1):
        producer = op.inputs[0].producer if op.inputs else None
        joins = producer is not None and op.name in AT_THE_OUTPUT and _is_passed_on(graph, op.inputs[0])
        times[op] = times[producer] if joins and producer is not None else number
    return times


def _is_passed_on(graph: Graph, tensor: Tensor) -> bool:
    """Whether an operator at the output of the tensor's maker reads it: then it never lies in memory."""
    users = tensor.uses.operators()
    alone = len(users) == 1 and tensor.producer is not None and tensor not in graph.outputs
    return alone and users[0].name in AT_THE_OUTPUT and users[0].inputs[0] is tensor and not _is_read_wider(users[0])


def _is_read_wider(op: Op) -> bool:
    """Whether an operator is the scale with which others read its operand."""
    return op.name == "RESCALE" and op.output.dtype.bits > op.inputs[0].dtype.bits


def _bytes(tensor: Tensor) -> int:
    elements = tensor.size
    if tensor.rank == 4 and tensor.producer is not None and tensor.producer.name not in KEPT_IN_ROWS:
        channels = tensor.shape[-1]
        elements = elements // channels * -(-channels // _BRICK) * _BRICK
    return (elements * tensor.dtype.bits + 7) // 8


def _sums(lives: Iterable[tuple[int, int, int]]) -> list[int]:
    """The bytes alive after each begin, from (begin, end, bytes) with both ends included."""
    changes: dict[int, int] = {}
    for begin, end, size in lives:
        changes[begin] = changes.get(begin, 0) + size
        changes[end + 1] = changes.get(end + 1, 0) - size
    total, sums = 0, []
    for time in sorted(changes):
        total += changes[time]
        sums.append(total)
    return sums


@dataclass(frozen=True)
class Placed:
    """A tensor as Vela placed it: its name, when it is alive (both ends included), and its bytes (the end excluded)."""

    name: str
    first: int
    last: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.begin


_BLOCK = re.compile(r"^Allocation, memory Sram\b.*?^Allocation Peak", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^ *(\d+) - +(\d+): +0x([0-9a-f]+) - +0x([0-9a-f]+): +\d+: +\d+: \S+ *: (.*)$", re.MULTILINE)


def placed(printed: str) -> list[Placed]:
    """The tensors in SRAM, from Vela's text with ``--verbose-allocation``; none if it lists none."""
    rows = [row for block in _BLOCK.findall(printed) for row in _ROW.findall(block)]
    return [Placed(name, int(a), int(b), int(begin, 16), int(end, 16)) for a, b, begin, end, name in rows]


def at_peak(tensors: Iterable[Placed]) -> list[Placed]:
    """The tensors alive when the last byte in use is farthest and most bytes are in use, by offset."""
    tensors = list(tensors)

    def use(moment: int) -> tuple[int, int]:
        alive = _alive(tensors, moment)
        return max(t.end for t in alive), sum(t.size for t in alive)

    if not tensors:
        return []
    moment = max(sorted({t.first for t in tensors}), key=use)
    return sorted(_alive(tensors, moment), key=lambda t: (t.begin, t.end, t.name))


def _alive(tensors: Iterable[Placed], moment: int) -> list[Placed]:
    return [t for t in tensors if t.first <= moment <= t.last]
