"""How lowered graphs depend on sizes: the numbers in them at several sizes, as expressions of the symbols.

The runtime reads the same off the graphs that it is given (``graph/size_expression.cpp``). Here is decided what may
depend on a size at all: shapes, attributes that are numbers, and constants of which a smaller size takes a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np

from ..support.errors import Rejected
from ..tosa.graph import Graph
from ..tosa.ir import DType, Op, Tensor
from .varying_sizes import Point

#: Constants of more elements are compared only in the finished graph.
_FEW = 4096


class Differs(Rejected):
    """Graphs of different sizes differ in more than sizes.

    Args:
        reason, fix: as ``Rejected``.
        node: the name of the node that the operator in question comes from; None: nobody knows.
    """

    def __init__(self, reason: str, fix: str, node: str | None = None) -> None:
        super().__init__(reason, fix)
        self.node = node


class Dependence:
    """Compares what was lowered at several points.

    Args:
        points: the first is that of the largest sizes.
        least: that of the smallest sizes, where nothing was lowered.
    """

    def __init__(self, points: Sequence[Point], least: Point) -> None:
        self.points, self.least = points, least

    def difference(self, ops: Sequence[Op], *, thorough: bool = False) -> str | None:
        """What in the operators, the same one of each point, is no expression of the symbols; None if all is.

        Args:
            thorough: look at the numbers of large constants, too.
        """
        first = ops[0]
        if any(op.name != first.name or len(op.inputs) != len(first.inputs) for op in ops):
            return f"becomes {' or '.join(dict.fromkeys(op.name for op in ops))}"
        for key in first.attrs:
            values = [op.attrs.get(key) for op in ops]
            if any(v != values[0] for v in values) and not self._fits_all(values):
                return f"has a {first.name} whose {key} is {self._listed(values)}"
        for tensors in zip(*(op.inputs for op in ops), strict=True):
            if (found := self._constants(tensors, thorough)) is not None:
                return f"has a {first.name} {found}"
        for tensors in zip(*(op.outputs for op in ops), strict=True):
            if not self._fits_all([t.shape for t in tensors]):
                return f"has a {first.name} with results of shapes {self._listed([t.shape for t in tensors])}"
            for sizes in zip(*(t.shape for t in tensors), strict=True):
                if not 1 <= (size := self._at_least(sizes)) <= sizes[0]:
                    return f"has a {first.name} with a result of size {size} where {_said(self.least)}"
        return self._outside(ops) if first.name == "SLICE" else None

    def _outside(self, slices: Sequence[Op]) -> str | None:
        """What of a SLICE is no part of its operand at the smallest sizes, as ``x[:2]`` of one row."""
        operands = [op.inputs[0].shape for op in slices]
        starts, counts = ([_numbers(op.inputs[i]) for op in slices] for i in (1, 2))
        for axes in zip(zip(*starts, strict=True), zip(*counts, strict=True), zip(*operands, strict=True), strict=True):
            start, count, size = map(self._at_least, axes)
            if start < 0 or start + count > size:
                return f"has a SLICE of elements {start} to {start + count} of {size} where {_said(self.least)}"
        return None

    def check(self, graphs: Sequence[Graph]) -> None:
        """Raises:
        Differs: the graphs, one of each point, differ in more than sizes.
        """
        fix = "export with this size fixed, or with other bounds"
        if len({len(graph.ops) for graph in graphs}) != 1:
            raise Differs("has other operators at other sizes", fix)
        twins: list[dict[Tensor, Tensor]] = [dict(zip(g.inputs, graphs[0].inputs, strict=True)) for g in graphs]
        for ops in zip(*(graph.ops for graph in graphs), strict=True):
            found = self.difference(ops, thorough=True)
            same = all(
                t.is_constant or twin.get(t) is given
                for op, twin in zip(ops, twins, strict=True)
                for t, given in zip(op.inputs, ops[0].inputs, strict=False)
            )
            if found is not None or not same:
                origin = ops[0].origin
                where = f" ({origin.node}, {origin.source})" if origin else ""
                why = f"{found or 'reads other tensors at other sizes'}{where}"
                raise Differs(why, fix, origin.node if origin else None)
            for op, twin in zip(ops, twins, strict=True):
                twin.update(zip(op.outputs, ops[0].outputs, strict=True))

    def _constants(self, tensors: Sequence[Tensor], thorough: bool) -> str | None:
        first = tensors[0]
        if len({t.is_constant for t in tensors}) != 1 or len({t.dtype for t in tensors}) != 1:
            return "with an operand that is constant at some sizes only"
        if not first.is_constant:
            return None
        if first.dtype is DType.SHAPE:
            numbers = [tuple(_numbers(t)) for t in tensors]
            return None if self._fits_all(numbers) else f"with the numbers {self._listed(numbers)}"
        shapes = [t.shape for t in tensors]
        if not self._fits_all(shapes):
            return f"with constants of shapes {self._listed(shapes)}"
        if all(shape == shapes[0] for shape in shapes) and not thorough and prod(shapes[0]) > _FEW:
            return None
        whole = np.asarray(first.data)
        for tensor in tensors[1:]:
            part = whole[tuple(slice(n) for n in tensor.shape)]
            if part.shape != tuple(tensor.shape) or part.tobytes() != np.asarray(tensor.data).tobytes():
                return "with constants that have other numbers at other sizes"
        return None

    def _fits_all(self, values: Sequence[Any]) -> bool:
        """Whether numbers, or lists of as many numbers, are expressions of the symbols."""
        lists = [v if isinstance(v, (tuple, list)) else (v,) for v in values]
        if len({len(v) for v in lists}) != 1:
            return False
        return all(all(n == each[0] for n in each) or self.fits(each) for each in zip(*lists, strict=True))

    def fits(self, numbers: Sequence[Any]) -> bool:
        """Whether one expression, ``factor * (product of some symbols) + offset``, has these numbers at the points."""
        if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers):
            return False
        return sum(1 for _ in self._expressions(numbers)) == 1

    def _at_least(self, numbers: Sequence[int]) -> int:
        """What the expression of these numbers is where sizes are the smallest."""
        if all(n == numbers[0] for n in numbers):
            return numbers[0]
        factor, offset, names = next(self._expressions(numbers))
        return factor * prod(self.least[name] for name in names) + offset

    def _expressions(self, numbers: Sequence[int]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """Factor, offset and symbols of each expression with these numbers."""
        names = list(self.points[0])
        for chosen in chain.from_iterable(combinations(names, n) for n in range(1, len(names) + 1)):
            at = [prod(point[name] for name in chosen) for point in self.points]
            other = next((i for i, product in enumerate(at) if product != at[0]), None)
            if other is None:
                continue
            factor, rest = divmod(numbers[other] - numbers[0], at[other] - at[0])
            offset = numbers[0] - factor * at[0]
            if factor and not rest and all(factor * p + offset == n for p, n in zip(at, numbers, strict=True)):
                yield factor, offset, chosen

    def _listed(self, values: Sequence[Any]) -> str:
        """ "4 (s77 = 8), 5 (s77 = 7)"."""
        return ", ".join(
            f"{list(v) if isinstance(v, (tuple, list)) else v} ({_said(point)})"
            for v, point in zip(values, self.points, strict=True)
        )


def _said(point: Point) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items())


def _numbers(tensor: Tensor) -> list[int]:
    return [int(n) for n in np.asarray(tensor.data).reshape(-1)]
