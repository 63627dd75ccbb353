"""Convolutions in parts: the same results, parts that are small enough, and those that are left whole."""

from __future__ import annotations

import numpy as np
import pytest

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.rewrites.conv2d_in_parts import conv2d_in_parts
from arm_ethosu.schedule.compilation import in_parts
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize

SPEC = EthosUCompileSpec("ethos-u55-128")


def _conv(builder: Builder, x: Tensor, outputs: int, *, kernel: int = 1, channels: bool = True) -> Tensor:
    rng, graph = np.random.default_rng(outputs), builder.graph
    weight = rng.integers(-127, 128, (outputs, kernel, kernel, x.shape[3])).astype(np.int8)
    bias = rng.integers(-4000, 4000, outputs if channels else 1).astype(np.int32)
    operands = [
        x,
        graph.constant(weight, DType.INT8),
        graph.constant(bias, DType.INT32),
        builder.zero_point(3, DType.INT8),
        builder.zero_point(0, DType.INT8),
    ]
    attrs = {"stride": (1, 1), "dilation": (1, 1), "acc_type": DType.INT32}
    wide = builder.emit("CONV2D", operands, pad=(kernel // 2,) * 4, **attrs)
    scales = [0.002 * (1 + i / outputs) for i in range(outputs)] if channels else [0.002]
    return builder.rescale(wide, scales, DType.INT8)


def _graph(outputs: int, reader: str = "", **options: object) -> Graph:
    builder = Builder(Graph(), SPEC.tosa_spec)
    x = builder.graph.input("x", (1, 4, 4, 24), DType.INT8)
    made = _conv(builder, x, outputs, **options)  # type: ignore[arg-type]
    if reader == "RESHAPE":
        made = builder.emit("RESHAPE", [made, builder.graph.shape((1, 1, 16, outputs))])
    elif reader == "CONV2D":
        made = _conv(builder, made, 16)
    elif reader == "TABLE":
        table = builder.graph.constant(np.arange(-128, 128, dtype=np.int8), DType.INT8)
        made = builder.emit("TABLE", [made, table])
    builder.graph.outputs = [made]
    return builder.graph


def _results(graph: Graph) -> np.ndarray:
    data = np.random.default_rng(1).integers(-128, 128, (1, 4, 4, 24)).astype(np.int8)
    (made,) = run(serialize(graph, SPEC.tosa_spec), [data])
    return made


@pytest.mark.parametrize(
    ("outputs", "most", "parts"),
    [(64, 1000, [32, 32]), (70, 800, [32, 32, 6]), (40, 100, [16, 16, 8]), (24, 300, [16, 8])],
)
@pytest.mark.parametrize("options", [{}, {"channels": False}, {"kernel": 3}])
@pytest.mark.parametrize("reader", ["", "RESHAPE", "CONV2D"])
def test_parts(outputs: int, most: int, parts: list[int], options: dict[str, object], reader: str) -> None:
    graph = _graph(outputs, reader, **options)
    expected = _results(graph)
    most *= int(options.get("kernel", 1)) ** 2  # type: ignore[call-overload]
    run_rewrites(graph, [conv2d_in_parts(most)])
    found = [op.output.shape[3] for op in graph.ops if op.name == "CONV2D"]
    assert found[: len(parts)] == parts
    np.testing.assert_array_equal(_results(graph), expected)
    assert len(np.unique(expected)) > 10


@pytest.mark.parametrize(("outputs", "most", "reader"), [(64, 1536, ""), (16, 10, ""), (64, 1000, "TABLE")])
def test_what_stays_whole(outputs: int, most: int, reader: str) -> None:
    graph = _graph(outputs, reader)
    assert not run_rewrites(graph, [conv2d_in_parts(most)]).rewrites["conv2d_in_parts"].applied


def test_graphs_in_parts_of_several_sizes() -> None:
    builder = Builder(Graph(), SPEC.tosa_spec)
    builder.graph.outputs = [_conv(builder, builder.graph.input("x", (1, 4, 4, 256), DType.INT8), 512)]
    tosa = serialize(builder.graph, SPEC.tosa_spec)
    counts = [sum(op.name == "CONV2D" for op in load(made).ops) for made in in_parts(tosa, "ethos-u55-128")]
    assert counts == [6, 3]  # parts of 24 and 48 KiB; all are less than 192
    assert in_parts(serialize(_graph(64), SPEC.tosa_spec), "ethos-u55-128") == []


def test_what_cannot_be_read_is_left() -> None:
    assert in_parts(b"no flatbuffer", "ethos-u55-128") == []
