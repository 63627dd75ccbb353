"""Attention part by part: what lies between its two products need not be in memory all at once."""

from __future__ import annotations

from functools import cache
from math import ceil

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Op, Tensor
from arm_tosa_core.tosa.rewrite import Inserter, Rewrite, Stage

# Two bounds of memory. They are no prices that an estimate of cycles could choose: parts cost cycles.
#: Elements between the products from which on parts are made, of whole matrices: the memory on the chip holds no more.
_MANY = 1 << 20
#: Elements of a matrix from which on its rows are parted. Fewer rows at a time cost Vela's MATMUL more: 300 of 1500
#: take a third of the cycles.
_LARGE = 1 << 22

_BY_ELEMENT = frozenset(
    ("ADD", "CAST", "CLAMP", "EQUAL", "GREATER", "MAXIMUM", "MINIMUM", "MUL", "RESCALE", "SELECT", "SUB", "TABLE")
)
#: What else may be computed by rows.
_BY_ROW = frozenset(("RESHAPE", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PRODUCT", "REDUCE_SUM"))


def _in_parts(graph: Graph, op: Op) -> bool:
    """A product whose left operand is made, row by row, from another product becomes one for each matrix, or more.

    Vela keeps the scores of all heads: 1500 x 1500 for each of 6 in Whisper-tiny, 67 MiB with what softmax makes of
    them. Of a part nothing is left but its rows of the result, and rows depend on nothing but themselves.
    """
    scores = op.inputs[0]
    count, rows, columns = scores.shape
    together = max(1, _MANY // (rows * columns))
    height = ceil(rows / ceil(rows * columns / _LARGE))
    if scores.size <= _MANY or (together >= count and height >= rows):
        return False
    chain = _chain(scores)
    inside = {*chain, op}
    if not any(member.name == "MATMUL" for member in chain):
        return False
    if any(t in graph.outputs or not inside.issuperset(t.uses) for member in chain for t in member.outputs):
        return False
    users = op.output.uses
    last = users[0] if len(users) == 1 and users[0].name == "RESCALE" and op.output not in graph.outputs else op
    parts = _Parts(graph, last, chain)
    done = []
    for matrices in _ranges(count, together):
        results = [parts.end(op, matrices, some) for some in _ranges(rows, height)]
        done.append(parts.insert.join(results, axis=1))
    graph.replace(last.output, parts.insert.join(done, axis=0))
    return True


def _ranges(size: int, most: int) -> list[range]:
    return [range(first, min(first + most, size)) for first in range(0, size, most)]


def _chain(scores: Tensor) -> set[Op]:
    """What makes ``scores`` [count, rows, columns] row by row, back to the products that begin it."""
    chain: set[Op] = set()
    waiting = [scores]
    while waiting:
        op = waiting.pop().producer
        if op is not None and op not in chain and _is_by_row(op, scores.shape[:2]):
            chain.add(op)
            waiting += [] if op.name == "MATMUL" else _operands(op)
    return chain


def _is_by_row(op: Op, matrices: tuple[int, ...]) -> bool:
    """Whether each row of each matrix of the result depends on the same row of the operands alone."""
    shape = op.outputs[0].shape
    if shape[-3:-1] != matrices or set(shape[:-3]) - {1}:
        return False
    if op.name == "RESHAPE":
        before = op.inputs[0].shape
        return before[-3:] == shape[-3:] and not set(before[:-3]) - {1}
    if op.name.startswith("REDUCE_"):
        return bool(op.attrs["axis"] == len(shape) - 1)
    return op.name == "MATMUL" or op.name in _BY_ELEMENT


def _operands(op: Op) -> list[Tensor]:
    """Those with elements where the result has them: no table, no multiplier, no shape."""
    return op.inputs[:1] if op.name == "RESHAPE" else [t for t in op.inputs if t.rank == op.output.rank]


class _Parts:
    """Copies of a chain, each on some rows of one matrix, inserted before ``last``."""

    def __init__(self, graph: Graph, last: Op, chain: set[Op]) -> None:
        self.graph, self.last, self.chain = graph, last, chain
        self.cut = cache(self._cut)
        self.insert = Inserter(graph, last)

    def end(self, op: Op, matrices: range, rows: range) -> Tensor:
        """Some rows of some matrices of the second product, rescaled if ``last`` does that."""
        known: dict[Tensor, Tensor] = {}

        def part(tensor: Tensor) -> Tensor:
            if tensor not in known:
                maker = tensor.producer
                inside = maker is not None and maker in self.chain
                known[tensor] = copy(maker) if maker is not None and inside else self.cut(tensor, matrices, rows)
            return known[tensor]

        def copy(member: Op) -> Tensor:
            if member.name == "MATMUL":
                return product(member, self.cut(member.inputs[0], matrices, rows))
            operands = [part(t) if t in _operands(member) else t for t in member.inputs]
            if member.name == "RESHAPE":
                *ones, _, _, columns = member.output.shape
                operands[1] = self.graph.shape([*ones, len(matrices), len(rows), columns])
            return self.insert.like(member, *operands)

        def product(matmul: Op, left: Tensor) -> Tensor:
            _, right, *zero_points = matmul.inputs
            right = self.cut(right, matrices, range(right.shape[1]))
            return self.insert.like(matmul, left, right, *zero_points)

        result = product(op, part(op.inputs[0]))
        if self.last is op:
            return result
        return self.insert.like(self.last, result, *self.last.inputs[1:])

    def _cut(self, tensor: Tensor, matrices: range, rows: range) -> Tensor:
        """Some rows of some matrices of a tensor from outside the chain; sizes of 1 are repeated."""
        start, size = [0] * tensor.rank, list(tensor.shape)
        for axis, some in ((-3, matrices), (-2, rows)):
            if size[axis] != 1:
                start[axis], size[axis] = some.start, len(some)
        if tuple(size) == tensor.shape:
            return tensor
        if tensor.data is not None:
            at = tuple(slice(s, s + n) for s, n in zip(start, size, strict=True))
            return self.graph.constant(tensor.data[at], tensor.dtype)
        return self.insert("SLICE", tensor, self.graph.shape(start), self.graph.shape(size))


ATTENTION_IN_PARTS = Rewrite("attention_in_parts", Stage.OPTIMIZE, ("MATMUL",), _in_parts, _BY_ELEMENT | _BY_ROW)
