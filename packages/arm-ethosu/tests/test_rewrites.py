"""Convolutions over patches: the same results, and what Vela makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from arm_ethosu import EthosUCompileSpec, vela
from arm_tosa_core.build import Builder
from arm_tosa_core.ir import DType, Graph
from arm_tosa_core.pipeline import legalize
from arm_tosa_core.reference import run
from arm_tosa_core.serializer import serialize


def _patch_convolution(builder: Builder, size: int, stride: int, pad: int) -> None:
    graph = builder.graph
    rng = np.random.default_rng(0)
    image = graph.input("x", (1, 32, 32, 3), DType.INT8)
    weight = graph.constant(rng.integers(-127, 128, (8, size, size, 3)).astype(np.int8), DType.INT8)
    bias = graph.constant(np.arange(8, dtype=np.int32), DType.INT32)
    zeros = [builder.zero_point(3, DType.INT8), builder.zero_point(0, DType.INT8)]
    attrs = {"pad": (pad,) * 4, "stride": (stride, stride), "dilation": (1, 1)}
    wide = builder.emit("CONV2D", [image, weight, bias, *zeros], **attrs)
    graph.outputs = [builder.rescale(wide, [0.002], DType.INT8)]


@pytest.mark.parametrize(
    ("size", "stride", "pad", "rewritten"),
    [(8, 8, 0, True), (4, 4, 0, True), (2, 2, 0, False), (3, 1, 1, False)],
)
def test_patches_become_channels(size: int, stride: int, pad: int, rewritten: bool) -> None:
    spec = EthosUCompileSpec("ethos-u55-128")
    target = spec.target()
    builder = Builder(Graph(), target.tosa_spec)
    _patch_convolution(builder, size, stride, pad)
    data = np.random.default_rng(1).integers(-128, 128, (1, 32, 32, 3)).astype(np.int8)
    plain = serialize(builder.graph, target.tosa_spec)
    legal = serialize(legalize(builder.graph, target), target.tosa_spec)
    (convolution,) = [op for op in builder.graph.ops if op.name == "CONV2D"]
    assert (convolution.inputs[1].shape[1:3] == (1, 1)) is rewritten
    np.testing.assert_array_equal(run(legal, [data])[0], run(plain, [data])[0])
    if rewritten:
        cycles = [
            vela.compile(
                tosa,
                accelerator="ethos-u55-128",
                config=spec.config_ini,
                system_config=spec.system_config,
                memory_mode=spec.memory_mode,
                flags=(),
                timeout=300,
                artifacts=None,
            ).cycles
            for tosa in (plain, legal)
        ]
        assert cycles[1] < cycles[0]
