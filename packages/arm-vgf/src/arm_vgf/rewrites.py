"""LEGALIZE rewrites for VGF: constructs that the emulation layer 0.11 runs to something else than what TOSA says."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.rewrite import Rewrite, Stage


def _argmax_of_one(graph: Graph, op: Op) -> bool:
    """An ARGMAX over one element is 0. The emulation layer leaves the output as it was.

    It does so with outputs that are constants, too; the converter folds sums, but no absolute values.
    """
    if op.inputs[0].shape[op.attrs["axis"]] != 1:
        return False
    zeros = graph.constant(np.zeros(op.output.shape, np.int32), DType.INT32)
    made = graph.insert(graph.ops.index(op), "ABS", [zeros], {}, op.origin)
    graph.replace(op.output, made.output)
    return True


REWRITES = (Rewrite("argmax-of-one", Stage.LEGALIZE, ("ARGMAX",), _argmax_of_one),)
