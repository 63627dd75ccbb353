"""What Vela makes of a graph, on the functional model, equals the graph on the TOSA reference model, bit for bit."""

from __future__ import annotations

from pathlib import Path

import graphs
import numpy as np
import pytest
import rows_u85
from graphs import Make
from model_library import run

from arm_ethosu.accelerators import ACCELERATORS
from arm_tosa_core.tosa import reference_model as reference

#: Results of few values: a test of them cannot see much, and needs no more.
_FEW = {"clz INT32", "conv to one channel"}
CASES = [
    pytest.param(make, accelerator, id=f"{accelerator}-{name}")
    for accelerator, family in ACCELERATORS.items()
    for name, make in (graphs.ROWS | (rows_u85.ROWS if family == "u85" else {})).items()
]


@pytest.mark.parametrize(("make", "accelerator"), CASES)
def test_graph(make: Make, accelerator: str, model: Path, request: pytest.FixtureRequest) -> None:
    graph = graphs.build(make)
    program = graphs.compile_graph(graph, accelerator)
    inputs = graphs.inputs(graph)
    (expected,) = reference.run(graphs.flatbuffer(graph, accelerator), inputs)
    for threads in (1, 2):
        (result,) = run(model, accelerator, program.arrays, inputs, threads)
        np.testing.assert_array_equal(result, expected.reshape(-1))
    few = any(request.node.callspec.id.endswith(name) for name in _FEW)
    assert len(np.unique(expected)) > (5 if few else 15), "the result says too little"
