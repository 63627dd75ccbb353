"""Products with a constant per channel: Vela makes one operation of each, which reads the constant on chip."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_kit import before_and_after

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load


@pytest.mark.parametrize(("accelerator", "pools"), [("ethos-u55-128", 1), ("ethos-u85-256", 0)])
def test_nothing_wide_is_read_but_what_a_rescale_makes(accelerator: str, pools: int) -> None:
    """The slopes of PReLU: 153,000 cycles in place of 390,000 on U55-128, 37,000 in place of 132,000 on U85-256."""
    spec = EthosUCompileSpec(accelerator)
    builder = Builder(Graph(), spec.tosa_spec)
    graph, slopes = builder.graph, np.arange(32, dtype=np.int8).reshape(32, 1, 1)
    image = builder.rescale(graph.input("x", (1, 8, 8, 32), DType.INT8), [1.0], DType.INT32)
    wide = builder.rescale(graph.constant(slopes, DType.INT8), [1.0], DType.INT32)
    factor = builder.emit("RESHAPE", [wide, graph.shape((1, 1, 1, 32))])
    product = builder.emit("MUL", [image, factor, builder.zero_point(0, DType.INT8)])
    graph.outputs = [builder.rescale(product, [0.02], DType.INT8)]
    _, legal = before_and_after(builder, spec)
    made = load(legal)
    (multiply,) = (op for op in made.ops if op.name == "MUL")
    assert [x.producer.name for x in multiply.inputs[:2] if x.producer is not None] == ["RESCALE", "RESCALE"]
    assert sum(op.name == "MAX_POOL2D" for op in made.ops) == pools
