"""Outputs that are views of each other: Vela alone leaves one out, and all of them are there after the rewrites."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from vela_cases import I8, I16, I32

from arm_ethosu import EthosUCompileSpec, vela
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

_ONE = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0)}
_NUMPY = {I8: np.int8, I16: np.int16, I32: np.int32}
Outputs = list[Tensor]
Make = Callable[[Graph, Tensor], Outputs]


def _transposed(graph: Graph, x: Tensor, *perms: int) -> Tensor:
    return graph.append("TRANSPOSE", [x], {"perms": perms}).output


def _reshaped(graph: Graph, x: Tensor, *shape: int) -> Tensor:
    return graph.append("RESHAPE", [x, graph.shape(shape)], {}).output


def _and_transposed(graph: Graph, y: Tensor) -> Outputs:
    rows = _reshaped(graph, y, 1, 6, 8)
    return [rows, _transposed(graph, rows, 0, 2, 1)]


def _and_read(graph: Graph, y: Tensor) -> Outputs:
    rows = _reshaped(graph, y, 1, 6, 8)
    moved = _reshaped(graph, _transposed(graph, rows, 0, 2, 1), 1, 8, 6, 1)
    return [rows, graph.append("MAX_POOL2D", [moved], _ONE).output]


def _factor(graph: Graph, y: Tensor) -> Outputs:
    rows = _transposed(graph, _reshaped(graph, y, 1, 6, 8), 0, 2, 1)
    zero = graph.constant(np.zeros(1, np.int8), I8)
    return [rows, graph.append("MATMUL", [graph.input("z", (1, 5, 8), I8), rows, zero, zero], {}).output]


def _and_back(graph: Graph, y: Tensor) -> Outputs:
    return [y, _transposed(graph, _transposed(graph, y, 0, 3, 1, 2), 0, 2, 3, 1)]


def _compiled(graph: Graph, spec: EthosUCompileSpec) -> int:
    options = {"system_config": spec.system_config, "memory_mode": spec.memory_mode, "config": None, "timeout": 60}
    made = vela.compile(serialize(graph, spec.tosa_spec), accelerator=spec.accelerator, **options)
    return len(made.arrays["output_shape"])


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (_and_transposed, I8),
        (_and_transposed, I16),
        (_and_transposed, I32),
        (_and_read, I8),
        (_factor, I8),
        (_and_back, I8),
    ],
)
def test_all_outputs_are_kept(make: Make, dtype: DType, accelerator: str) -> None:
    def built() -> Graph:
        graph = Graph()
        x = graph.input("x", (1, 1, 6, 8), dtype)
        name, attrs = ("ABS", {}) if dtype is I32 else ("MAX_POOL2D", _ONE)
        graph.outputs = make(graph, graph.append(name, [x], attrs).output)
        return graph

    spec = EthosUCompileSpec(accelerator)
    plain, legal = built(), legalize(built(), spec.target())
    assert _compiled(plain, spec) < 2, "Vela keeps it: the rewrite is not needed"
    assert _compiled(legal, spec) == 2
    inputs = [np.arange(x.size, dtype=_NUMPY[x.dtype]).reshape(x.shape) for x in plain.inputs]
    for made, right in zip(*(run(serialize(g, spec.tosa_spec), inputs) for g in (legal, plain)), strict=True):
        np.testing.assert_array_equal(made, right)
