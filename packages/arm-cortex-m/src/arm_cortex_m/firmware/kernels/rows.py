"""Operators row by row in one function: reductions along the last axis, and what is elementwise before and behind.

A row is gone through once for each reduction that waits for another one, and once more. Numbers that one of these
passes leaves for a later one lie in the row of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arm_tosa_core.tosa.ir import Op, Tensor

from ..c_text import c_type, number
from .elementwise import ELEMENTWISE, read_by, result_of, walk_of
from .kernel import OPERATORS, Kernel, bounds, element
from .loops import Walk, loop, nest, row_major

#: By name, the number so far and another one.
_REDUCTIONS: Mapping[str, str] = {
    "REDUCE_MAX": "tosa_max({0}, {1})",
    "REDUCE_MIN": "tosa_min({0}, {1})",
    "REDUCE_SUM": "tosa_add({0}, {1})",
}
#: The name of several operators of rows, as one operator.
ROWS = "ROWS"
_COUNTER = "n"


def in_rows(op: Op, shape: tuple[int, ...]) -> bool:
    """Whether an operator can be one of those: whose result has a shape, or one number of each row of it."""
    if op.name in ELEMENTWISE:
        return op.output.shape in (shape, (*shape[:-1], 1))
    along = op.name in _REDUCTIONS and op.attrs["axis"] == len(shape) - 1
    return along and op.inputs[0].shape == shape and op.output.size < op.inputs[0].size


def reduces(op: Op) -> bool:
    """Whether it is a reduction."""
    return op.name in _REDUCTIONS


class Passes:
    """In which pass over a row each operator is computed: as late as it can be.

    Args:
        ops: in an order in which they can run. Only the last one's result is read elsewhere.
    """

    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        self.shape = ops[-1].output.shape
        self.of: dict[Op, int] = {}
        known: dict[Tensor, int] = {}
        for op in ops:
            self.of[op] = max((known[tensor] for tensor in op.inputs if tensor in known), default=0)
            known[op.output] = self.of[op] + reduces(op)
        for op in reversed(ops[:-1]):
            if self.in_loop(op) and not reduces(op):
                self.of[op] = min(self.of[user] for user in op.output.uses)

    def in_loop(self, op: Op) -> bool:
        """Whether it is computed for each number of a row; else once for a row."""
        return reduces(op) or op.output.shape == self.shape

    @property
    def left(self) -> list[Op]:
        """Those of which a later pass reads the numbers of a row."""
        each = [op for op in self.ops[:-1] if self.in_loop(op) and not reduces(op)]
        return [op for op in each if any(self.of[user] > self.of[op] for user in op.output.uses)]


def rows(passes: Passes) -> tuple[Op, Kernel]:
    """Those operators as one, and its kernel. At most one of them is ``left``, of the type of the result."""
    ops, of = passes.ops, passes.of
    names = {op.output: f"v{place}" for place, op in enumerate(ops[:-1])}
    left = {op.output: of[op] for op in passes.left}
    outside: dict[tuple[Tensor, Walk], int] = {}
    for op in ops:
        for position in (0,) if reduces(op) else read_by(op):
            if op.inputs[position] not in names:
                outside.setdefault((op.inputs[position], _walk(op, position)), len(outside))

    def statement(index: Sequence[str]) -> list[str]:
        def at(place: int, stride: int) -> str:
            return index[place] if not stride else _COUNTER if index[place] == "0" else f"{index[place]} + {_COUNTER}"

        def operand(op: Op, position: int) -> str:
            tensor = op.inputs[position]
            if tensor in names:
                return f"output[{at(0, 1)}]" if of[op] > left.get(tensor, of[op]) else names[tensor]
            walk = _walk(op, position)
            place = outside.get((tensor, walk))
            if place is None:
                return element(op, position, "")
            return f"input{place}[{at(place + 1, walk.strides[-1] if passes.in_loop(op) else 0)}]"

        def made(op: Op) -> str:
            tables = (place for (tensor, _), place in outside.items() if op.inputs[1:] and tensor is op.inputs[1])
            return result_of(op, lambda position: operand(op, position), f"input{next(tables, 0)}")

        def computed(op: Op) -> list[str]:
            if op is ops[-1]:
                return [f"output[{at(0, 1)}] = {made(op)};"]
            name = names[op.output]
            if reduces(op):
                kind = c_type(op.output.dtype)
                return [f"{name} = ({kind})({_REDUCTIONS[op.name].format(name, operand(op, 0))});"]
            lines = [f"const {c_type(op.output.dtype)} {name} = {made(op)};"]
            return [*lines, f"output[{at(0, 1)}] = {name};"] if op.output in left else lines

        lines: list[str] = []
        for time in range(max(of.values()) + 1):
            now = [op for op in ops if of[op] == time]
            for op in now:
                if reduces(op):
                    lines.append(f"{c_type(op.output.dtype)} {names[op.output]} = {_first(op)};")
                elif not passes.in_loop(op):
                    lines += computed(op)
            inner = [line for op in now if passes.in_loop(op) for line in computed(op)]
            lines += ["", *loop(_COUNTER, passes.shape[-1], inner)] if inner else []
        return lines

    whole = Op(ROWS, [tensor for tensor, _ in outside], {OPERATORS: ", ".join(op.name for op in ops)}, None)
    whole.outputs.append(ops[-1].output)
    walks = [Walk(row_major(passes.shape)), *(walk for _, walk in outside)]
    body = nest(passes.shape[:-1], [Walk(walk.strides[:-1]) for walk in walks], statement)
    return whole, Kernel(tuple(range(len(outside))), tuple(body))


def _walk(op: Op, position: int) -> Walk:
    return Walk(row_major(op.inputs[0].shape)) if reduces(op) else walk_of(op, position)


def _first(op: Op) -> str:
    """The number that a reduction begins with."""
    least, most = bounds(op.output.dtype)
    return number({"REDUCE_MAX": least, "REDUCE_MIN": most}.get(op.name, 0))
