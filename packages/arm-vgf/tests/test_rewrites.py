"""The rewrites for VGF."""

from __future__ import annotations

import numpy as np
import pytest

from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.target import make_target


@pytest.mark.parametrize(("shape", "axis", "kept"), [((2, 1), 1, False), ((1,), 0, False), ((2, 3), 1, True)])
def test_argmax_of_one_element(shape: tuple[int, ...], axis: int, kept: bool) -> None:
    target = make_target()
    graph = Graph()
    x = graph.input("x", shape, DType.FP32)
    graph.outputs = [graph.append("ARGMAX", [x], {"axis": axis}).output]
    legal = legalize(graph, target)
    assert ("ARGMAX" in [op.name for op in legal.ops]) == kept
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert np.array_equal(run(serialize(legal, target.tosa_spec), [data])[0], data.argmax(axis))
