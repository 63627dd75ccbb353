"""TRANSPOSE of as few axes as say the same: Vela makes one of more than four in up to ten steps."""

from __future__ import annotations

from math import prod

from arm_tosa_core.ir import Graph, Op
from arm_tosa_core.rewrite import Rewrite, Stage

_NATIVE_RANK = 4


def _of_few_axes(graph: Graph, op: Op) -> bool:
    """Axes of one element are left out, and those that stay together become one.

    [1, 1, 32, 2, 16] with the perms (0, 3, 1, 2, 4), as in attention whose heads share keys, takes 27,000 cycles on
    Ethos-U85-256, and [32, 2, 16] with (1, 0, 2) a twentieth.
    """
    x, perms = op.inputs[0], op.attrs["perms"]
    runs: list[list[int]] = []  # axes of x that stay together, in the order of the result
    for axis in (axis for axis in perms if x.shape[axis] > 1):
        if runs and not any(x.shape[between] > 1 for between in range(runs[-1][-1] + 1, axis)) and axis > runs[-1][-1]:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    if x.rank <= _NATIVE_RANK or len(runs) == x.rank:
        return False
    before = sorted(runs)
    at = graph.ops.index(op)
    shape = graph.shape([prod(x.shape[axis] for axis in run) for run in before])
    merged = graph.insert(at, "RESHAPE", [x, shape], {}, op.origin)
    moved = graph.insert(at + 1, "TRANSPOSE", [merged.output], {"perms": tuple(map(before.index, runs))}, op.origin)
    made = graph.insert(at + 2, "RESHAPE", [moved.output, graph.shape(op.output.shape)], {}, op.origin)
    graph.replace(op.output, made.output)
    return True


TRANSPOSE_OF_FEW_AXES = Rewrite("transpose_of_few_axes", Stage.LEGALIZE, ("TRANSPOSE",), _of_few_axes)
