"""Graphs with a choice for the estimate, and whether their results stay the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

SPEC = EthosUCompileSpec("ethos-u55-128")
NUMPY = {DType.INT8: np.int8, DType.INT16: np.int16}


def convolution(
    builder: Builder,
    image: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    outputs: int = 6,
    seed: int = 0,
) -> Tensor:
    """CONV2D and the RESCALE of each channel behind it; the zero point of an INT8 image is 3."""
    graph, rng, dtype = builder.graph, np.random.default_rng(seed), image.dtype
    narrow = dtype is DType.INT8
    weight = rng.integers(-127, 128, (outputs, *kernel, image.shape[3])).astype(np.int8)
    bias = rng.integers(-999, 999, outputs).astype(np.int32 if narrow else np.int64)
    wide = builder.emit(
        "CONV2D",
        [
            image,
            graph.constant(weight, DType.INT8),
            graph.constant(bias, DType.INT32 if narrow else DType.INT48),
            builder.zero_point(3 if narrow else 0, dtype),
            builder.zero_point(0, DType.INT8),
        ],
        pad=tuple(pad),
        stride=tuple(stride),
        dilation=(1, 1),
        acc_type=DType.INT32 if narrow else DType.INT48,
    )
    scales = [(0.002 if narrow else 0.0005) * (1 + i / outputs) for i in range(outputs)]
    return builder.rescale(wide, scales, dtype)


def new_builder() -> Builder:
    return Builder(Graph(), SPEC.tosa_spec)


def same_results(graph: Graph, choice: Choice, times: int = 1) -> None:
    """The choice is made ``times`` times, wherever it is possible, and nothing changes."""
    plain = serialize(graph, SPEC.tosa_spec)
    rng = np.random.default_rng(1)
    data = []
    for x in graph.inputs:
        limits = np.iinfo(NUMPY[x.dtype])
        data.append(rng.integers(limits.min, limits.max + 1, x.shape).astype(limits.dtype))
    changed = load(plain)
    made = [op for op in list(changed.ops) if choice.always.apply(changed, op)]
    assert len(made) == times
    changed.sweep()
    results = [run(tosa, data)[0] for tosa in (serialize(changed, SPEC.tosa_spec), plain)]
    np.testing.assert_array_equal(*results)
    assert len(np.unique(results[0])) > 10


def padding(size: int, kernel: int, stride: int, before: int) -> tuple[int, int]:
    """``before``, and what TOSA then asks for behind."""
    after = before
    while (size - kernel + before + after) % stride:
        after += 1
    return before, after


def first_layer(size: int, kernel: int, outputs: int, pad: int, cut: int = 0, seed: int = 0, stride: int = 2) -> Graph:
    """A network's first layer of 3 channels, in PyTorch's order of axes."""
    builder = new_builder()
    graph = builder.graph
    image = graph.input("x", (1, 3, size, size), DType.INT8)
    if cut:
        image = builder.emit("SLICE", [image, graph.shape((0,) * 4), graph.shape((1, 3, size - cut, size - cut))])
    image = builder.emit("TRANSPOSE", [image], perms=(0, 2, 3, 1))
    around = padding(size - cut, kernel, stride, pad) * 2
    graph.outputs = [convolution(builder, image, (kernel, kernel), (stride, stride), around, outputs, seed)]
    return graph


def names_of(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]


def only(graph: Graph, name: str) -> Op:
    (op,) = (op for op in graph.ops if op.name == name)
    return op
