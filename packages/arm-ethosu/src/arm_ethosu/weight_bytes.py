"""How many bytes Vela's encoder makes of weights: of each layer a graph with that layer alone, compiled by Vela."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from arm_tosa_core.plugin.target import LayerWeights
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

from . import vela

#: Of a kernel, the most that the accelerator has along an axis; weights of larger ones are laid out as inputs.
_LONGEST = 64
_MEMORIES = ("on_chip_flash_memory_used", "off_chip_flash_memory_used", "dram_memory_used")


def encoded_bytes(layers: Sequence[LayerWeights], *, spec: TosaSpecification, **options: Any) -> list[int]:
    """Bytes of each layer's constants: its encoded weights, and ten bytes of bias and scale per channel.

    Args:
        spec: of the accelerator.
        options: as ``vela.compile`` takes them, but for the flatbuffer and the folder.

    Raises:
        ToolError: Vela is missing, or does not take a layer.
    """
    graphs = [serialize(_alone(layer, spec), spec) for layer in layers]
    found = []
    for layer, summary in zip(layers, vela.summaries(graphs, **options), strict=True):
        if summary is None:
            raise ToolError("vela", f"does not take a convolution with weights of {layer.values.shape}")
        found.append(round(1024 * sum(summary[name] for name in _MEMORIES)))
    return found


def _alone(layer: LayerWeights, spec: TosaSpecification) -> Graph:
    """A graph whose only layer has these weights; its image is as large as the kernel."""
    from arm_tosa_core.lowering.builder import Builder  # late: it loads PyTorch

    graph = Graph()
    builder = Builder(graph, spec)
    weights, depthwise = _as_image(layer)
    channels = len(layer.values)
    size = (*weights.shape[:2], channels) if depthwise else weights.shape[1:]
    made = builder.emit(
        "DEPTHWISE_CONV2D" if depthwise else "CONV2D",
        [
            graph.input("image", (1, *size), DType.INT8),
            graph.constant(weights, DType.INT8),
            graph.constant(np.zeros(channels, np.int32), DType.INT32),
            builder.zero_point(0, DType.INT8),
            builder.zero_point(0, DType.INT8),
        ],
        pad=(0, 0, 0, 0),
        stride=(1, 1),
        dilation=(1, 1),
        acc_type=DType.INT32,
    )
    graph.outputs.append(builder.rescale(made, [0.001] * channels, DType.INT8))
    return graph


def _as_image(layer: LayerWeights) -> tuple[np.ndarray[Any, Any], bool]:
    """Weights as TOSA has them, and whether they are those of a depthwise convolution."""
    values = layer.values
    channels, read, *kernel = values.shape
    if len(kernel) > 2 or max(kernel, default=1) > _LONGEST:
        values, kernel = values.reshape(channels, -1, 1, 1), [1, 1]
        read = prod(values.shape[1:])
    height, width = (1,) * (2 - len(kernel)) + tuple(kernel)
    values = values.reshape(channels, read, height, width)
    if layer.groups == channels and read == 1:
        return np.ascontiguousarray(values.transpose(2, 3, 0, 1)), True
    return np.ascontiguousarray(values.transpose(0, 2, 3, 1)), False
