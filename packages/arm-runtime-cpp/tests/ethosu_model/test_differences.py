"""Where Vela compiles a graph to something else than what TOSA says, and that arm_ethosu avoids it.

Each row of ``docs/reference/vela-differences.md`` and of ``differences.py``: what Vela makes is not the reference
model's result, or stops with a fault; then either a check of the target refuses the operator, or a rewrite of the
target gives a graph that agrees. What resembles a row and is right stays right.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import graphs
import numpy as np
import pytest
from differences import EXACT, ROWS
from model_library import Fault, run

from arm_ethosu import EthosUCompileSpec, comparison
from arm_ethosu.rewrites.catalogue import ROWS as CATALOGUE
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.support.errors import MiscompiledError
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.rewrite_engine import Application, Observer, observed


def _result(graph: Graph, accelerator: str, model: Path, ours: bool = False) -> np.ndarray[Any, Any] | None:
    """What the model makes of Vela's or of our commands; None if it stops or does not complete its output."""
    arrays = graphs.settled_arrays(graph, accelerator) if ours else graphs.compile_graph(graph, accelerator).arrays
    try:
        return run(model, accelerator, arrays, graphs.inputs(graph))[0]
    except (Fault, AssertionError):
        return None


@pytest.mark.parametrize("name", ROWS)
def test_difference(name: str, model: Path) -> None:
    row = ROWS[name]
    graph, target = graphs.build(row.make), EthosUCompileSpec(row.accelerator).target()
    inputs = graphs.inputs(graph)
    (expected,) = reference.run(graphs.flatbuffer(graph, row.accelerator), inputs)
    result = _result(graph, row.accelerator, model)
    assert result is None or not _equal(result, expected), "Vela is right: remove the row"
    refusals = [refused for op in graph.ops for check in target.checks if (refused := check(op))]
    assert bool(refusals) == row.refused
    if row.refused:
        return
    legal = legalize(graph, target)
    (wanted,) = reference.run(graphs.flatbuffer(legal, row.accelerator), inputs)
    result = _result(legal, row.accelerator, model, ours=True)
    assert result is not None
    assert _equal(result, wanted)
    assert np.abs(wanted.astype(np.int64) - expected).max() <= row.off


def _equal(result: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """Whether a result of the model, whose integers are all signed, has an expected one's numbers."""
    signed = expected.view(np.int8) if expected.dtype == np.uint8 else expected
    return np.array_equal(result, signed.reshape(-1))


@pytest.mark.parametrize(
    "name", [name for name in ROWS if re.match("outer .* of one of two views|choice (from|by) ", name)]
)
def test_operands_in_the_shape_of_another_view_are_seen(name: str) -> None:
    row = ROWS[name]
    with pytest.raises(MiscompiledError, match=r"(operands \(height, width, depth\)|so many elements:) .*, right is"):
        graphs.compile_graph(graphs.build(row.make), row.accelerator, compile=comparison.compile)


class _Applied(Observer):
    """Rewrites that were applied, by name."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def applied(self, graph: Graph, application: Application) -> None:
        self.names.add(application.rewrite.name)


def test_every_workaround_has_a_row_that_says_when_it_can_go() -> None:
    seen = _Applied()
    with observed(seen):
        for row in ROWS.values():
            if not row.refused:
                legalize(graphs.build(row.make), EthosUCompileSpec(row.accelerator).target())
    workarounds = {row.on_accelerator(f"ethos-{row.on[-1]}-256").name for row in CATALOGUE if row.vela}
    outputs = {"kept_output"}  # Vela leaves an output out: packages/arm-ethosu/tests/test_kept_outputs.py
    assert workarounds - outputs - seen.names == set()


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("name", EXACT)
def test_exact(name: str, accelerator: str, model: Path) -> None:
    graph = graphs.build(EXACT[name])
    (expected,) = reference.run(graphs.flatbuffer(graph, accelerator), graphs.inputs(graph))
    assert len(np.unique(expected)) > 15, "the result says too little"
    result = _result(legalize(graph, EthosUCompileSpec(accelerator).target()), accelerator, model, ours=True)
    assert result is not None
    np.testing.assert_array_equal(result, expected.reshape(-1))


def _upsampled_and_joined(m: graphs.Maker) -> Tensor:
    """Two images: convolutions that take the transposed one's place copy their weights over what was read just now."""
    made = m.conv(m.input(graphs.I16, 2, 3, 3, 4), (3, 3), 8, op="TRANSPOSE_CONV2D", stride=(2, 2))
    return m.op("CONCAT", made, m.input(graphs.I16, *made.shape), axis=3)


def test_transfers_wait_for_kernels(model: Path) -> None:
    graph, accelerator = graphs.build(_upsampled_and_joined), "ethos-u55-128"
    legal, inputs = legalize(graph, EthosUCompileSpec(accelerator).target()), graphs.inputs(graph)
    with pytest.raises(Fault, match="writes bytes .* there is no wait for it"):
        run(model, accelerator, graphs.compile_graph(legal, accelerator).arrays, inputs)
    (expected,) = reference.run(graphs.flatbuffer(graph, accelerator), inputs)
    np.testing.assert_array_equal(_result(legal, accelerator, model, ours=True), expected.reshape(-1))
