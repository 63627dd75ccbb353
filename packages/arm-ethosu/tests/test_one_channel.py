"""Copies of images with one channel as copies of planes: the same results, in fewer cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rewrite_kit import cycles

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.rewrites import rewrites_for
from arm_ethosu.rewrites.one_channel import PLANE_MOVED
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

_PARTS, _HEIGHT, _WIDTH = 4, 40, 120


def _stack(spec: EthosUCompileSpec) -> Graph:
    """Shifted views of one image, side by side as channels."""
    builder = Builder(Graph(), spec.tosa_spec)
    graph = builder.graph
    image = graph.input("x", (1, _HEIGHT, _WIDTH, 1), DType.INT8)
    views = []
    for shift in range(_PARTS):
        kept = builder.emit("SLICE", [image, graph.shape((0, 0, shift, 0)), graph.shape((1, _HEIGHT, _WIDTH - 8, 1))])
        around = graph.shape((0, 0, 1, 0, 3, 5, 0, 0))
        views.append(builder.emit("PAD", [kept, around, builder.zero_point(7, DType.INT8)]))
    graph.outputs = [builder.emit("CONCAT", views, axis=3)]
    return graph


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_views_of_an_image_are_joined_as_planes(accelerator: str) -> None:
    spec = EthosUCompileSpec(accelerator)
    made = []
    for extra in ((), (PLANE_MOVED.always,)):
        target = replace(spec.target(), rewrites=(*rewrites_for(accelerator), *extra))
        made.append(legalize(_stack(spec), target))
    plain, planes = made
    assert [op.attrs["axis"] for op in plain.ops if op.name == "CONCAT"] == [3]
    assert [op.attrs["axis"] for op in planes.ops if op.name == "CONCAT"] == [1]
    assert {op.output.shape[3] > 1 for op in planes.ops if op.name in ("PAD", "SLICE")} == {True}
    image = np.random.default_rng(0).integers(-128, 128, (1, _HEIGHT, _WIDTH, 1)).astype(np.int8)
    before, after = (serialize(graph, spec.tosa_spec) for graph in (plain, planes))
    np.testing.assert_array_equal(run(after, [image])[0], run(before, [image])[0])
    assert cycles(after, spec) < cycles(before, spec)
