"""Copies of images with one channel as copies of planes: the same results, in fewer cycles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rewrite_kit import cycles

from arm_ethosu import EthosUCompileSpec
from arm_ethosu.rewrites import rewrites_for
from arm_ethosu.rewrites.planes import PLANE_MOVED, PLANES_JOINED
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.rewrites.by_estimate import Choice
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize

_SHAPE = (1, 40, 120, 1)
_NUMPY = {DType.INT8: np.int8, DType.INT16: np.int16}


def _stack(
    spec: EthosUCompileSpec, dtype: DType = DType.INT8, shape: tuple[int, ...] = _SHAPE, parts: int = 4, axis: int = 3
) -> Graph:
    """Shifted views of one image, side by side as channels."""
    builder = Builder(Graph(), spec.tosa_spec)
    graph = builder.graph
    image = graph.input("x", shape, dtype)
    views = []
    for shift in range(parts):
        size = (*shape[:2], shape[2] - 8, shape[3])
        kept = builder.emit("SLICE", [image, graph.shape((0, 0, shift, 0)), graph.shape(size)])
        around = graph.shape((0, 0, 1, 0, 3, 5, 0, 0))
        views.append(builder.emit("PAD", [kept, around, graph.constant(np.array([7], _NUMPY[dtype]), dtype)]))
    graph.outputs = [builder.emit("CONCAT", views, axis=axis)]
    return graph


def _axis(graph: Graph) -> int:
    (axis,) = {op.attrs["axis"] for op in graph.ops if op.name == "CONCAT"}
    return int(axis)


@pytest.mark.parametrize("dtype", _NUMPY)
@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_views_of_an_image_are_joined_as_planes(accelerator: str, dtype: DType) -> None:
    spec = EthosUCompileSpec(accelerator)
    target, plain = spec.target(), rewrites_for(accelerator)
    made = []
    for rewrites in (plain, target.rewrites, (*plain, PLANES_JOINED.always)):
        made.append(legalize(_stack(spec, dtype), replace(target, rewrites=rewrites)))
    assert _axis(made[0]) == 3
    assert _axis(made[2]) == 1
    assert {op.output.shape[3] > 1 for op in made[2].ops if op.name in ("PAD", "SLICE")} == {True}
    limits = np.iinfo(_NUMPY[dtype])
    image = np.random.default_rng(0).integers(limits.min, limits.max + 1, _SHAPE).astype(limits.dtype)
    before, chosen, joined = (serialize(graph, spec.tosa_spec) for graph in made)
    (expected,) = run(before, [image])
    for tosa in (chosen, joined):
        np.testing.assert_array_equal(run(tosa, [image])[0], expected)
    assert cycles(chosen, spec) == min(cycles(tosa, spec) for tosa in (before, chosen, joined))
    assert cycles(chosen, spec) < cycles(before, spec)


def test_planes_are_the_same_whatever_comes_first() -> None:
    spec = EthosUCompileSpec("ethos-u85-256")
    choices = (PLANE_MOVED.always, PLANES_JOINED.always)
    made = set()
    for names in (("a", "b"), ("b", "a")):  # names are the order
        named = [replace(choice, name=name) for choice, name in zip(choices, names, strict=True)]
        target = replace(spec.target(), rewrites=(*rewrites_for(spec.accelerator), *named))
        made.add(serialize(legalize(_stack(spec), target), spec.tosa_spec))
    assert len(made) == 1


def _refused(choice: Choice, graph: Graph, name: str) -> bool:
    return not choice.always.apply(graph, next(op for op in graph.ops if op.name == name))


@pytest.mark.parametrize(
    ("shape", "parts", "axis", "refused"),
    [
        (_SHAPE, 4, 3, False),
        ((1, 40, 120, 2), 4, 3, True),  # two channels
        ((2, 40, 120, 1), 4, 3, True),  # two images
        ((1, 20, 120, 1), 4, 3, True),  # it moves little
        (_SHAPE, 4, 2, True),  # side by side as columns
        (_SHAPE, 1, 3, True),  # nothing is joined
    ],
)
def test_other_joins_stay(shape: tuple[int, ...], parts: int, axis: int, refused: bool) -> None:
    graph = _stack(EthosUCompileSpec("ethos-u55-128"), shape=shape, parts=parts, axis=axis)
    assert _refused(PLANES_JOINED, graph, "CONCAT") is refused


@pytest.mark.parametrize("name", ["PAD", "SLICE"])
@pytest.mark.parametrize(("shape", "refused"), [(_SHAPE, False), ((1, 40, 120, 2), True), ((2, 40, 120, 1), True)])
def test_other_moves_stay(shape: tuple[int, ...], refused: bool, name: str) -> None:
    graph = _stack(EthosUCompileSpec("ethos-u55-128"), shape=shape)
    assert _refused(PLANE_MOVED, graph, name) is refused


def test_what_is_cut_at_run_time_stays() -> None:
    graph = _stack(EthosUCompileSpec("ethos-u85-256"))
    op = next(op for op in graph.ops if op.name == "SLICE")
    graph.set_input(op, 1, graph.input("start", (4,), DType.SHAPE))
    assert not PLANE_MOVED.always.apply(graph, op)
