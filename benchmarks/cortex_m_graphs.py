"""The layers of ``benchmarks.cortex_m_networks`` as TOSA graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from benchmarks.cortex_m_networks import Layer

_Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Built:
    graph: Graph
    weights: _Array
    biases: _Array
    multipliers: _Array
    shifts: _Array


def _constant(graph: Graph, dtype: DType, *numbers: int) -> Tensor:
    return graph.constant(np.array(numbers, np.int32 if dtype is DType.INT32 else np.int8), dtype)


def built_of(layer: Layer) -> Built:
    """The graph of a layer, and its numbers as CMSIS-NN takes them."""
    rng, graph = np.random.default_rng(0), _GRAPHS.get(layer.kind, lambda _: Graph())(layer)
    channels, deep = layer.size[2], layer.kind == "depthwise"
    shape = (*layer.kernel, channels, 1) if deep else (layer.out, *layer.kernel, channels)
    depth = layer.kernel[0] * layer.kernel[1] * (1 if deep else channels)
    built = Built(
        graph,
        rng.integers(-127, 127, shape, endpoint=True).astype(np.int8),
        rng.integers(-3000, 3000, layer.out).astype(np.int32),
        rng.integers(2**30, 2**31, layer.out).astype(np.int32),
        np.full(layer.out, 38 + int(np.log2(depth) / 2), np.int8),
    )
    if graph.outputs:
        return built
    x = graph.input("x", (1, *layer.size), DType.INT8)
    zero, window = _constant(graph, DType.INT8, 0), {"stride": (layer.stride,) * 2, "pad": layer.pad}
    if layer.kind == "add":
        y = graph.input("y", (1, *layer.size), DType.INT8)
        both = [_scaled_up(graph, x, -3, 1073741824, 10), _scaled_up(graph, y, 4, 1358034958, 11)]
        graph.outputs.append(_scaled(graph, graph.append("ADD", both, {}).output, [1482525670], [49]))
    elif layer.kind == "max":
        graph.outputs.append(graph.append("MAX_POOL2D", [x], {"kernel": layer.kernel, **window}).output)
    elif layer.kind == "mean":
        attrs = {"kernel": layer.kernel, "acc_type": DType.INT32, "stride": layer.kernel, "pad": (0, 0, 0, 0)}
        graph.outputs.append(graph.append("AVG_POOL2D", [x, zero, zero], attrs).output)
    else:
        operands = [x, graph.constant(built.weights, DType.INT8), graph.constant(built.biases, DType.INT32)]
        operands += [_constant(graph, DType.INT8, -3), zero]
        attrs = {**window, "dilation": (1, 1), "acc_type": DType.INT32}
        sums = graph.append("DEPTHWISE_CONV2D" if deep else "CONV2D", operands, attrs).output
        graph.outputs.append(_scaled(graph, sums, built.multipliers.tolist(), built.shifts.tolist()))
    return built


def _matmul(layer: Layer) -> Graph:
    graph, (batches, _, depth) = Graph(), layer.size
    operands = [graph.input("a", layer.size, DType.INT8), graph.input("b", (batches, depth, layer.out), DType.INT8)]
    operands += [_constant(graph, DType.INT8, zero_point) for zero_point in (-3, -4)]
    sums = graph.append("MATMUL", operands, {"output_dtype": DType.INT32}).output
    graph.outputs.append(_scaled(graph, sums, [1073741824], [40]))
    return graph


def _softmax(layer: Layer) -> Graph:
    """As the compiler lowers it; of 16 steps for a factor of e."""
    graph, (_, rows, length) = Graph(), layer.size
    x = graph.input("x", (rows, length), DType.INT8)
    both = [_scaled_up(graph, each, 0, 2**30, 30) for each in (x, graph.append("REDUCE_MAX", [x], {"axis": 1}).output)]
    y = _scaled(graph, graph.append("SUB", both, {}).output, [1717986918], [31], 127)
    table = np.round(255 * np.exp(np.arange(-255, 1) / 16)).astype(np.int64) - 128
    y = graph.append("TABLE", [y, graph.constant(table.astype(np.int8), DType.INT8)], {}).output
    total = graph.append("REDUCE_SUM", [_scaled_up(graph, y, -128, 2**30, 30)], {"axis": 1}).output
    total = _scaled(graph, total, [round(2**30 / length)], [30], -128)
    inverse = np.minimum(127, np.round(4000 / np.arange(1, 257)) - 128).astype(np.int8)
    total = graph.append("TABLE", [total, graph.constant(inverse, DType.INT8)], {}).output
    factors = [_scaled_up(graph, each, -128, 2**30, 30) for each in (y, total)]
    product = graph.append("MUL", [*factors, _constant(graph, DType.INT8, 0)], {}).output
    graph.outputs.append(_scaled(graph, product, [1077952576], [38], -128))
    return graph


_GRAPHS = {"matmul": _matmul, "softmax": _softmax}


def _scaled_up(graph: Graph, x: Tensor, zero_point: int, multiplier: int, shift: int) -> Tensor:
    factors = [_constant(graph, DType.INT32, multiplier), _constant(graph, DType.INT8, shift)]
    ends = [_constant(graph, DType.INT8, zero_point), _constant(graph, DType.INT32, 0)]
    return graph.append("RESCALE", [x, *factors, *ends], {"output_dtype": DType.INT32, "scale32": True}).output


def _scaled(graph: Graph, x: Tensor, multipliers: list[int], shifts: list[int], zero_point: int = -5) -> Tensor:
    factors = [_constant(graph, DType.INT32, *multipliers), _constant(graph, DType.INT8, *shifts)]
    ends = [_constant(graph, DType.INT32, 0), _constant(graph, DType.INT8, zero_point)]
    attrs = {"output_dtype": DType.INT8, "scale32": True, "per_channel": len(multipliers) > 1}
    return graph.append("RESCALE", [x, *factors, *ends], attrs).output
