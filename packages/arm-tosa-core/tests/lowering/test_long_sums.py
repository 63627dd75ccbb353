"""Sums of more numbers of 16 bits than int32 is sure to hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16")
COUNT = 70000


@pytest.mark.parametrize(("shape", "axis"), [((COUNT,), 0), ((COUNT, 2), 0), ((2, COUNT), 1)])
@pytest.mark.parametrize(("number", "clamp"), [(3, None), (-32768, None), (3, 1.0)])
def test_no_number_loses_its_last_bit(shape: tuple[int, ...], axis: int, number: int, clamp: float | None) -> None:
    builder = Builder(Graph(), SPEC)
    x = builder.value(builder.graph.input("x", shape, DType.INT16), torch.float32)
    x = x.replace(quant=QParams((0.5,), 0, -32768, 32767), clamp=None if clamp is None else (0.0, clamp))
    result = builder.reduce("REDUCE_SUM", x, axis)
    assert result.quant is not None
    builder.graph.outputs = [builder.tensor(result)]
    (made,) = run(serialize(builder.graph, SPEC), [np.full(shape, number, np.int16)])
    total = COUNT * (number * 0.5 if clamp is None else clamp)
    assert result.quant.qmin <= made.min() and made.max() <= result.quant.qmax
    assert np.abs(made * result.quant.scalar - total).max() <= 1
