"""Compares what a target computes with the TOSA reference model, and finds the operator where they part.

When the outputs of a whole graph differ, the graph is cut after one operator and then another: the tensors that are
alive at the cut become outputs, and the shorter graph is compiled and compared again. A binary search ends at two cuts,
one operator apart, of which the first agrees and the second does not. A cut that the target cannot compile is passed
over, so then more than one operator may be named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..plugin.target import Target
from ..support.errors import ToolError
from ..tosa import reference_model as reference
from ..tosa.ir import Op
from ..tosa.loader import load
from ..tosa.serializer import serialize

Array = np.ndarray[Any, Any]
Run = Callable[[bytes, Sequence[Array]], Sequence[Array]]

#: Of float outputs: the difference allowed, as a part of the output's largest magnitude.
FLOAT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Difference:
    """How a tensor differs from the reference's, or why there is none.

    Args:
        count, size: elements that differ, of how many.
        index: the first one, in row-major order.
        fault: what the run stopped with; then the rest is empty.
    """

    count: int = 0
    size: int = 0
    index: tuple[int, ...] = ()
    expected: float = 0
    got: float = 0
    fault: str = ""

    def __str__(self) -> str:
        if self.fault:
            return self.fault
        return (
            f"{self.count} of {self.size} elements differ, first at {list(self.index)}: "
            f"expected {self.expected:g}, got {self.got:g}"
        )


@dataclass(frozen=True)
class Finding:
    """Where a graph parts from the reference.

    Args:
        difference: of the shortest cut that differs.
        ops: index and operator of those after the longest cut that agrees, up to that one; usually one. Empty if only
            the program that was given differs, and not what the target compiles from the graph now.
        cuts: how many shorter graphs were compiled.
    """

    difference: Difference
    ops: tuple[tuple[int, Op], ...]
    cuts: int


def verify(tosa: bytes, target: Target, inputs: Sequence[Array], run: Run | None = None) -> Finding | None:
    """Runs a graph on the target and on the reference model; None if they agree.

    Args:
        target: compiles and runs the graph and its cuts.
        run: runs the whole graph, where that is compiled already; by default the target compiles it too.

    Raises:
        ToolError: the reference model or the target's compiler refuses the whole graph.
    """

    def fresh(tosa: bytes, arrays: Sequence[Array]) -> list[Array]:
        return run_payload(target, compiled(target, tosa), arrays)

    difference = compare(tosa, inputs, run or fresh)
    if difference is None:
        return None
    if run is not None and compare(tosa, inputs, fresh) is None:
        return Finding(difference, (), 0)
    search = _Search(tosa, target, inputs)
    return search.between(-1, len(search.ops) - 1, difference)


def compare(tosa: bytes, inputs: Sequence[Array], run: Run) -> Difference | None:
    """What ``run`` makes of a graph beside what the reference model makes of it; None if they agree."""
    expected = reference.run(tosa, inputs, isolated=True)  # it aborts its process on some inputs
    try:
        results = run(tosa, inputs)
    except ToolError as error:
        return Difference(fault=str(error))
    for want, result in zip(expected, results, strict=True):
        got = np.ascontiguousarray(result).view(want.dtype).reshape(want.shape)
        different = _differs(want, got)
        if different.any():
            index = tuple(int(i) for i in np.argwhere(different)[0])
            values = float(want[index]), float(got[index])
            return Difference(int(different.sum()), want.size, index, *values)
    return None


def _differs(want: Array, got: Array) -> Array:
    """Which elements differ: integers at all, floats by more than ``FLOAT_TOLERANCE``."""
    if want.dtype.kind in "biu":
        return np.asarray(want != got)
    a, b = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a)
    scale = np.abs(a[finite]).max(initial=0.0)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.asarray(~same & ~(finite & (np.abs(a - b) <= FLOAT_TOLERANCE * scale)))


def run_payload(target: Target, payload: bytes, inputs: Sequence[Array]) -> list[Array]:
    """Runs what the target compiled.

    Raises:
        ToolError: the run failed; a runtime that is not ours raises RuntimeError.
    """
    assert target.host.run is not None  # the commands check it
    try:
        return target.host.run(payload, inputs)
    except RuntimeError as error:
        raise ToolError(f"target {target.name}", f"could not run: {error}") from error


def compiled(target: Target, tosa: bytes) -> bytes:
    """The target's payload of a graph."""
    return target.compiler.compile(tosa, {}) if target.compiler.compile else tosa


class _Search:
    """Binary search over the cuts of one graph."""

    def __init__(self, tosa: bytes, target: Target, inputs: Sequence[Array]) -> None:
        self.tosa, self.target, self.inputs = tosa, target, inputs
        self.ops = list(load(tosa).ops)
        self.cuts = 0

    def between(self, agrees: int, differs: int, difference: Difference) -> Finding:
        """Narrows to the operators after cut ``agrees``, up to cut ``differs``; a cut has its last operator's index."""
        while differs - agrees > 1:
            middle = (agrees + differs) // 2
            for cut in (*range(middle, differs), *range(middle - 1, agrees, -1)):
                judged, found = self._judge(cut)
                if judged:
                    break
            else:
                break  # none of the cuts between the two can be compiled
            if found is None:
                agrees = cut
            else:
                differs, difference = cut, found
        ops = tuple((i, self.ops[i]) for i in range(agrees + 1, differs + 1))
        return Finding(difference, ops, self.cuts)

    def _judge(self, cut: int) -> tuple[bool, Difference | None]:
        """Whether a cut can be judged, and how it differs."""
        tosa, used = cut_after(self.tosa, cut, self.target)
        inputs = [self.inputs[i] for i in used]
        self.cuts += 1
        try:
            payload = compiled(self.target, tosa)
            return True, compare(tosa, inputs, lambda _, arrays: run_payload(self.target, payload, arrays))
        except ToolError:  # the compiler's, or the reference model's
            return False, None


def cut_after(tosa: bytes, index: int, target: Target) -> tuple[bytes, list[int]]:
    """The graph up to operator ``index``: what later operators need of it becomes its outputs.

    Returns:
        The flatbuffer, and which of the graph's inputs it still has.
    """
    graph = load(tosa)
    ops = list(graph.ops)
    before, after = ops[: index + 1], ops[index + 1 :]
    needed = {id(tensor) for op in after for tensor in op.inputs} | {id(tensor) for tensor in graph.outputs}
    graph.outputs = [tensor for op in before for tensor in op.outputs if id(tensor) in needed]
    for op in reversed(after):
        graph.remove(op)
    kept = {id(tensor) for op in before for tensor in op.inputs}
    used = [i for i, tensor in enumerate(graph.inputs) if id(tensor) in kept]
    graph.inputs = [graph.inputs[i] for i in used]
    return serialize(graph, target.tosa_spec), used
