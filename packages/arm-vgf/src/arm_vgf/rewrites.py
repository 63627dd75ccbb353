"""LEGALIZE rewrites for VGF: constructs that the emulation layer 0.11 runs to something else than what TOSA says."""

from __future__ import annotations

import numpy as np

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage


def _several(match: Match) -> str | None:
    size = match.op.inputs[0].shape[match.op.attrs["axis"]]
    return None if size == 1 else f"there are {size} elements to choose from"


def _argmax_of_one(match: Match) -> Tensor:
    """An ARGMAX over one element is 0. The emulation layer leaves the output as it was.

    It does so with outputs that are constants, too; the converter folds sums, but no absolute values.
    """
    return match.insert("ABS", match.graph.constant(np.zeros(match.op.output.shape, np.int32), DType.INT32))


REWRITES = (pattern_rewrite("argmax-of-one", Stage.LEGALIZE, Pattern("ARGMAX"), _argmax_of_one, _several),)
