"""What Vela makes of a graph, on the functional model, equals the graph on the TOSA reference model, bit for bit."""

from __future__ import annotations

from pathlib import Path

import graphs
import numpy as np
import pytest
from model_library import run

from arm_ethosu.accelerators import ACCELERATORS
from arm_tosa_core import reference

MODELLED = [name for name, family in ACCELERATORS.items() if family != "u85"]
#: Results of few values: a test of them cannot see much, and needs no more.
_FEW = {"clz INT32", "conv to one channel"}


@pytest.mark.parametrize("accelerator", MODELLED)
@pytest.mark.parametrize("name", graphs.ROWS)
def test_graph(name: str, accelerator: str, model: Path) -> None:
    graph = graphs.make(name)
    program = graphs.compile_graph(graph, accelerator)
    inputs = graphs.inputs(graph)
    (expected,) = reference.run(graphs.flatbuffer(graph, accelerator), inputs)
    for threads in (1, 2):
        (result,) = run(model, accelerator, program.arrays, inputs, threads)
        np.testing.assert_array_equal(result, expected.reshape(-1))
    assert len(np.unique(expected)) > (5 if name in _FEW else 15), "the result says too little"
