"""Squares of the least number of 16 bits: 2**30, which a RESCALE by a half does not reach (TOSA 1.0, RESCALE)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams, Value
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16")
STEP = 1 / 32768

READERS: dict[str, tuple[Callable[[Builder, Value], Value], Callable[[float], float]]] = {
    "a number added": (lambda b, x: b.ADD(x, 0.25), lambda x: x + 0.25),
    "a sum of two": (lambda b, x: b.reduce("REDUCE_SUM", x, 0), lambda x: 2 * x),
    "a negative factor": (lambda b, x: b.MUL(x, -0.5), lambda x: -0.5 * x),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("number", [-32768, 32767, 3])
def test_squares_are_read_in_their_whole_range(name: str, number: int) -> None:
    read, exact = READERS[name]
    builder = Builder(Graph(), SPEC)
    x = builder.value(builder.graph.input("x", (2,), DType.INT16), torch.float32)
    x = x.replace(quant=QParams((STEP,), 0, -32768, 32767))
    result = read(builder, builder.MUL(x, x))
    assert result.quant is not None
    builder.graph.outputs = [builder.tensor(result)]
    (made,) = run(serialize(builder.graph, SPEC), [np.full(2, number, np.int16)])
    assert result.quant.qmin <= made.min() and made.max() <= result.quant.qmax
    assert np.abs(made * result.quant.scalar - exact((number * STEP) ** 2)).max() <= 4 * STEP**2
