"""A small network whose SRAM can be made smaller by a cascade, as TOSA."""

from __future__ import annotations

import numpy as np

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize

U55 = EthosUCompileSpec("ethos-u55-128")


def convolution(graph: Graph, x: Tensor, channels: int, stride: int = 1) -> Tensor:
    """3x3 with padding, in int8, and its RESCALE."""
    weights = np.random.default_rng(channels).integers(-9, 9, (channels, 3, 3, x.shape[-1])).astype(np.int8)
    zero = graph.constant(np.zeros(1, np.int8), DType.INT8)
    bias = graph.constant(np.zeros(channels, np.int32), DType.INT32)
    attrs = {"pad": (1, 0, 1, 0) if stride == 2 else (1, 1, 1, 1), "stride": (stride, stride), "dilation": (1, 1)}
    operands = [x, graph.constant(weights, DType.INT8), bias, zero, zero]
    sums = graph.append("CONV2D", operands, {**attrs, "acc_type": "INT32"}).output
    return rescaled(graph, sums, DType.INT8)


def rescaled(graph: Graph, x: Tensor, dtype: DType) -> Tensor:
    zeros = [graph.constant(np.zeros(1, np.int8 if t is DType.INT8 else np.int32), t) for t in (x.dtype, dtype)]
    scale = [
        graph.constant(np.array([1 << 30], np.int32), DType.INT32),
        graph.constant(np.array([36], np.int8), DType.INT8),
    ]
    attrs = {"scale32": True, "per_channel": False, "rounding_mode": "SINGLE_ROUND", "output_dtype": dtype}
    return graph.append("RESCALE", [x, *scale, *zeros], attrs).output


def network(size: int = 32) -> Graph:
    """Wide at first, narrow later: what a cascade makes small."""
    graph = Graph()
    x = graph.input("x", (1, size, size, 8), DType.INT8)
    for channels, stride in ((64, 1), (16, 2), (32, 1), (16, 2)):
        x = convolution(graph, x, channels, stride)
    graph.outputs = [x]
    return graph


def flatbuffer(graph: Graph | None = None) -> bytes:
    return serialize(graph or network(), U55.tosa_spec)
