"""Operators in one loop, and of rows in one function: the results of the reference model, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from arm_cortex_m.firmware import on_host
from arm_cortex_m.firmware.processor_steps import model_of_graph
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16")
I8, I16, I32 = DType.INT8, DType.INT16, DType.INT32
SHAPE = (3, 4, 5)
RNG = np.random.default_rng(0)


def _scaled(graph: Graph, x: Tensor, dtype: DType, multipliers: list[int], shift: int) -> Tensor:
    kinds = {I16: np.int16, I32: np.int32}
    factors = [graph.constant(np.array(multipliers, np.int32), I32)]
    factors.append(graph.constant(np.full(len(multipliers), shift, np.int8), I8))
    zeros = [graph.constant(np.zeros(1, kinds[each]), each) for each in (x.dtype, dtype)]
    attrs = {"output_dtype": dtype, "scale32": True, "per_channel": len(multipliers) > 1}
    return graph.append("RESCALE", [x, *factors, *zeros], attrs).output


def a_sum(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    both = [_scaled(graph, each, I32, [2**30 + 12345 * each.size], 18) for each in (x, y)]
    return [_scaled(graph, graph.append("ADD", both, {}).output, I16, [3 * 2**29 + i for i in range(5)], 43)]


def interpolations(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """Two tables of one number, as softmax and sigmoid of 16 bits have them, and a constant for each channel."""
    tables = [graph.constant(RNG.integers(-(2**14), 2**14, 513).astype(np.int16), I16) for _ in "ab"]
    first, second = (graph.append("TABLE", [x, table], {}).output for table in tables)
    channels = graph.constant(RNG.integers(-(2**20), 2**20, (1, 1, 5)).astype(np.int32), I32)
    more = graph.append("SUB", [graph.append("MAXIMUM", [first, channels], {}).output, second], {}).output
    return [_scaled(graph, more, I16, [2**30], 38)]


def read_elsewhere(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """The first result is one of the graph's, the second has another shape."""
    up, small = _scaled(graph, x, I32, [2**30], 30), _scaled(graph, y, I32, [2**30], 20)
    return [up, graph.append("ADD", [up, small], {}).output]


def _softmax(graph: Graph, x: Tensor, axis: int = 2) -> Tensor:
    """Of differences in place of exponentials."""
    greatest = graph.append("REDUCE_MAX", [x], {"axis": axis}).output
    both = [_scaled(graph, each, I32, [2**30], 30) for each in (x, greatest)]
    less = _scaled(graph, graph.append("SUB", both, {}).output, I16, [3 * 2**29], 32)
    total = graph.append("REDUCE_SUM", [_scaled(graph, less, I32, [2**30], 28)], {"axis": axis}).output
    factors = [
        _scaled(graph, less, I32, [2**30], 30),
        _scaled(graph, _scaled(graph, total, I16, [2**30], 37), I32, [2**30], 30),
    ]
    product = graph.append("MUL", [*factors, graph.constant(np.zeros(1, np.int8), I8)], {}).output
    return _scaled(graph, product, I16, [1234567890], 44)


def rows(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """Of a sum with one number of each row."""
    return [_softmax(graph, a_sum(graph, x, y)[0])]


def rows_of_columns(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    return [_softmax(graph, x, axis=1)]


def rows_and_their_greatest(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    out = _softmax(graph, x)
    return [out, next(iter(graph.ops)).output]


def rows_without_one(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    """Least numbers, and what is left for later is of another type than the result."""
    wide = graph.append("MUL", [x, y, graph.constant(np.zeros(1, np.int8), I8)], {}).output
    least = graph.append("REDUCE_MIN", [wide], {"axis": 2}).output
    return [_scaled(graph, graph.append("SUB", [wide, least], {}).output, I16, [2**30], 46)]


def many(graph: Graph, x: Tensor, y: Tensor) -> list[Tensor]:
    out = _scaled(graph, x, I32, [2**30], 30)
    for number in range(39):
        name = ("SUB", "MAXIMUM", "ADD")[number % 3]
        out = graph.append(name, [out, graph.constant(np.full((1, 1, 1), 7 * number, np.int32), I32)], {}).output
    return [out]


ROWS: Mapping[str, tuple[Callable[[Graph, Tensor, Tensor], list[Tensor]], list[int]]] = {
    "a sum": (a_sum, [1, 3]),  # what has one number for all channels is computed once
    "interpolations": (interpolations, [5]),
    "read elsewhere": (read_elsewhere, [1, 1, 1]),
    "many": (many, [8, 32]),
    "rows": (rows, [1, 3, 12]),  # of the sum, which two passes read, there is no room in the result
    "rows of columns": (rows_of_columns, [1, 1, 3, 1, 1, 2, 3]),
    "rows and their greatest": (rows_and_their_greatest, [1, 11]),
    "rows without one": (rows_without_one, [1, 3]),
}


@pytest.mark.parametrize("name", ROWS)
def test_one_loop_computes_several(name: str) -> None:
    require("gcc")
    build, sizes = ROWS[name]
    graph = Graph()
    graph.outputs += build(graph, graph.input("x", SHAPE, I16), graph.input("y", (3, 4, 1), I16))
    tosa = serialize(graph, SPEC)
    assert [len(step.ops) for step in model_of_graph(graph, "cortex-m55").operators] == sizes
    inputs = [RNG.integers(-(2**15), 2**15, tensor.shape).astype(np.int16) for tensor in graph.inputs]
    for wanted, got in zip(reference_model.run(tosa, inputs), on_host.run(tosa, inputs), strict=True):
        assert np.array_equal(wanted, got)
