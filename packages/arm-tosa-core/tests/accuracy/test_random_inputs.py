"""Random inputs: indices stay within what they index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_tosa_core.accuracy.random_inputs import random_inputs
from arm_tosa_core.tosa import reference_model as reference
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT")
ROWS = 5


def moved(graph: Graph, x: Tensor) -> Tensor:
    """The indices by way of operators that keep their values."""
    shape = graph.constant(np.array([1, 12], np.int64), DType.SHAPE)
    turned = graph.append("TRANSPOSE", [x], {"perms": [1, 0]}).output
    return graph.append("RESHAPE", [turned, shape]).output


PATHS: dict[str, tuple[tuple[int, int], Callable[[Graph, Tensor], Tensor]]] = {
    "as they are": ((1, 12), lambda graph, x: x),
    "moved": ((3, 4), moved),
    "bounded": ((1, 12), lambda graph, x: graph.append("MAXIMUM", [x, x], {"nan_mode": "PROPAGATE"}).output),
}


@pytest.mark.parametrize("path", PATHS)
def test_indices_are_within_what_they_index(path: str) -> None:
    shape, indices = PATHS[path]
    graph = Graph()
    x = graph.input("x", shape, DType.INT32)
    values = graph.constant(np.arange(ROWS * 2, dtype=np.int8).reshape(1, ROWS, 2), DType.INT8)
    graph.outputs = list(graph.append("GATHER", [values, indices(graph, x)]).outputs)
    found = [random_inputs(graph, seed) for seed in range(4)]
    assert {int(i) for (array,) in found for i in array.flat} == set(range(ROWS))
    (rows,) = reference.run(serialize(graph, SPEC), found[0])
    assert rows.shape == (1, 12, 2)


def test_other_integers_take_their_whole_range() -> None:
    graph = Graph()
    x = graph.input("x", (1000,), DType.INT8)
    graph.outputs = [x]
    (array,) = random_inputs(graph, 0)
    assert (array.min(), array.max()) == (-128, 127)
