"""The rewrites for VGF."""

from __future__ import annotations

import numpy as np
import pytest

from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.target import make_target


@pytest.mark.parametrize(("shape", "axis", "kept"), [((2, 1), 1, False), ((1,), 0, False), ((2, 3), 1, True)])
def test_argmax_of_one_element(shape: tuple[int, ...], axis: int, kept: bool) -> None:
    target = make_target()
    graph = Graph()
    x = graph.input("x", shape, DType.FP32)
    graph.outputs = [graph.append("ARGMAX", [x], {"axis": axis}).output]
    legal = legalize(graph, target)
    assert ("ARGMAX" in [op.name for op in legal.ops]) == kept
    data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert np.array_equal(run(serialize(legal, target.tosa_spec), [data])[0], data.argmax(axis))


@pytest.mark.parametrize("name", ["difference", "product", "product of another shape"])
def test_zeros_of_what_is_not_finite(name: str) -> None:
    """The model converter makes zeros of ``x - x`` and of ``x * 0``, whatever x is."""
    target, graph = make_target(), Graph()
    x = graph.input("x", (1, 4), DType.FP32)
    if name == "difference":
        op = graph.append("SUB", [x, x])
    else:
        zeros = np.zeros((2, 4) if "another" in name else (1, 1), np.float32)
        op = graph.append(
            "MUL", [x, graph.constant(zeros, DType.FP32), graph.constant(np.zeros(1, np.int8), DType.INT8)]
        )
    graph.outputs = [op.output]
    legal = legalize(graph, target)
    assert not {"SUB", "MUL"} & {op.name for op in legal.ops}
    given = np.array([[np.nan, np.inf, -np.inf, 3.0]], np.float32)
    (made,) = run(serialize(legal, target.tosa_spec), [given])
    assert made.shape == op.output.shape
    assert np.isnan(made[:, :3]).all() and not made[:, 3].any()


@pytest.mark.parametrize(
    ("name", "number", "shape", "dropped"),
    [
        ("ADD", 0, (1, 1), True),
        ("SUB", 0, (2, 4), True),
        ("MUL", 1, (1, 4), True),
        ("MUL", 0.5, (1, 4), False),
        ("ADD", 0, (3, 2, 4), False),
    ],
)
def test_what_changes_nothing(name: str, number: float, shape: tuple[int, ...], dropped: bool) -> None:
    target, graph = make_target(), Graph()
    x = graph.input("x", (1,) * (len(shape) - 2) + (2, 4), DType.FP32)
    shift = [graph.constant(np.zeros(1, np.int8), DType.INT8)] if name == "MUL" else []
    op = graph.append(name, [x, graph.constant(np.full(shape, number, np.float32), DType.FP32), *shift])
    graph.outputs = [graph.append("EXP", [op.output]).output]
    assert (name in [op.name for op in legalize(graph, target).ops]) == (not dropped)


@pytest.mark.parametrize(
    ("shape", "view", "perms", "wanted"),
    [
        ((4, 6), (4, 1, 6), (1, 2, 0), "TRANSPOSE RESHAPE"),
        ((1, 4, 1, 6), (4, 6), (1, 0), "TRANSPOSE RESHAPE"),
        ((1, 4, 6), (1, 4, 1, 1, 6, 1), (4, 2, 5, 1, 0, 3), "TRANSPOSE RESHAPE"),
        ((3, 4, 6), (3, 1, 4, 6), (3, 1, 0, 2), "TRANSPOSE RESHAPE"),
        ((4, 6), (4, 2, 3), (1, 2, 0), "RESHAPE TRANSPOSE"),
        ((4, 6), (6, 1, 4), (1, 2, 0), "RESHAPE TRANSPOSE"),
    ],
)
def test_axes_of_one_element_come_after_a_transpose(
    shape: tuple[int, ...], view: tuple[int, ...], perms: tuple[int, ...], wanted: str
) -> None:
    target, graph = make_target(), Graph()
    x = graph.append("RESHAPE", [graph.input("x", shape, DType.INT8), graph.shape(view)]).output
    graph.outputs = [graph.append("TRANSPOSE", [x], {"perms": perms}).output]
    legal = legalize(graph, target)
    assert " ".join(op.name for op in legal.ops if op.name != "CONST_SHAPE") == wanted
    data = np.arange(np.prod(shape), dtype=np.int8).reshape(shape)
    (made,) = run(serialize(legal, target.tosa_spec), [data])
    assert np.array_equal(made, data.reshape(view).transpose(perms))
