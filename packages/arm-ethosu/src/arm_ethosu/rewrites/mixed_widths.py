"""Arithmetic on tensors of as many bits: Vela makes one operation of it and of the RESCALEs around it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Stage
from arm_tosa_core.tosa.scaling import multiplier_and_shift


def _of_one_width(match: Match) -> Mapping[int, Tensor]:
    """An operand of 8 bits beside one of 16 is widened to 16 bits before it is rescaled.

    Vela otherwise rescales either operand, and the result, by itself: what a norm divides, [1, 256, 16] by [1, 256, 1],
    takes 16,792 cycles on Ethos-U85-256, and 1,320 like this.
    """
    graph, narrow, insert = match.graph, match["narrow"], match.before("narrow")
    multiplier, shift = multiplier_and_shift([1.0], 32)
    one = [graph.constant(multiplier, DType.INT32), graph.constant(shift, DType.INT8)]
    none = graph.constant(np.zeros(1, np.int16), DType.INT16)
    attrs = {**narrow.attrs, "output_dtype": DType.INT16, "per_channel": False, "scale32": True}
    wider = insert("RESCALE", narrow.inputs[0], *one, narrow.inputs[3], none, **attrs)
    operands = [wider, *narrow.inputs[1:3], none, narrow.inputs[4]]
    return {match.position("narrow"): insert("RESCALE", *operands, **narrow.attrs)}


def _to_int32(dtype: DType, name: str = "") -> Pattern:
    return Pattern("RESCALE", {0: Pattern(dtype=dtype)}, name, dtype=DType.INT32, attrs={"input_unsigned": False})


OF_ONE_WIDTH = pattern_rewrite(
    "of_one_width",
    Stage.LEGALIZE,
    Pattern("ADD|SUB|MUL", {0: _to_int32(DType.INT8, "narrow"), 1: _to_int32(DType.INT16)}, commutes=True),
    _of_one_width,
)
