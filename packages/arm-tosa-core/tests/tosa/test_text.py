"""Graphs as text."""

from __future__ import annotations

import re

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Origin
from arm_tosa_core.tosa.text import text


def _graph(name: str = "main") -> Graph:
    graph = Graph(name)
    x = graph.input("x", (2, 3), DType.FP32)
    one = graph.constant(np.ones((1, 3), np.float32), DType.FP32)
    many = graph.constant(np.arange(12, dtype=np.float32).reshape(4, 3), DType.FP32)
    y = graph.append("ADD", [x, one], origin=Origin("add", "aten.add.Tensor", "model.py:8")).output
    z = graph.append("CONCAT", [y, many], {"axis": 0}, Origin("cat", "aten.cat.default")).output
    graph.outputs = [graph.append("RESHAPE", [z, graph.shape((3, 6))]).output, y]
    return graph


def test_operators_constants_attributes_and_origins() -> None:
    printed = re.sub("#[0-9a-f]{8}", "#digest", text(_graph()))
    assert (
        printed
        == """\
graph main(%x: FP32[2,3]) {
  %1 = ADD(%x: FP32[2,3], const FP32[1,3] (1.0, 1.0, 1.0)) : FP32[2,3]  // add, model.py:8
  %2 = CONCAT(%1: FP32[2,3], const FP32[4,3] #digest) {axis=0} : FP32[6,3]  // cat
  %3 = RESHAPE(%2: FP32[6,3], (3, 6)) : FP32[3,6]
  return %3: FP32[3,6], %1: FP32[2,3]
}
"""
    )


def test_equal_graphs_have_equal_texts_and_others_do_not() -> None:
    first, second = _graph(), _graph()
    assert text(first) == text(second)
    data = second.ops[1].inputs[1].data
    assert data is not None
    data[3, 2] += 1
    assert text(first) != text(second)
    assert "//" not in text(first, origins=False)


def _piece(name: str, op: str) -> Graph:
    graph = Graph(name)
    x = graph.input("x", (1,), DType.FP32)
    graph.outputs = [graph.append(op, [x, x] if op == "GREATER" else [x]).output]
    return graph


def test_graphs_within_operators() -> None:
    graph = Graph()
    x = graph.input("x", (1,), DType.FP32)
    pieces = {"cond_graph": _piece("again", "GREATER"), "body_graph": _piece("step", "ABS")}
    graph.outputs = [graph.append("WHILE_LOOP", [x], pieces).output]
    assert (
        text(graph)
        == """\
graph main(%x: FP32[1]) {
  %1 = WHILE_LOOP(%x: FP32[1]) : FP32[1]
    cond_graph again(%x_2: FP32[1]) {
      %3 = GREATER(%x_2: FP32[1], %x_2: FP32[1]) : BOOL[1]
      return %3: BOOL[1]
    }
    body_graph step(%x_4: FP32[1]) {
      %5 = ABS(%x_4: FP32[1]) : FP32[1]
      return %5: FP32[1]
    }
  return %1: FP32[1]
}
"""
    )
