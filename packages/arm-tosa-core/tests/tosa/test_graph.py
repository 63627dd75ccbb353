"""The graph keeps its use lists, constants and order true."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from arm_tosa_core.support.errors import Rejected
from arm_tosa_core.tosa.dtypes import numpy_dtype, torch_to_tosa, tosa_to_torch
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, joined
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import verify

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP")


def test_equal_constants_are_one_tensor() -> None:
    graph = Graph()
    a = graph.constant(np.ones((2, 2), np.float32), DType.FP32)
    assert graph.constant(np.ones((2, 2), np.float32), DType.FP32) is a
    assert graph.constant(np.ones((4,), np.float32), DType.FP32) is not a
    assert graph.shape([1, 2]) is graph.shape([1, 2])
    assert graph.shape([]).shape == (0,)


def test_replace_moves_every_use_and_the_outputs() -> None:
    graph = Graph()
    x, y = graph.input("x", (2,), DType.FP32), graph.input("y", (2,), DType.FP32)
    double = graph.append("ADD", [x, x]).output
    total = graph.append("ADD", [double, double]).output
    graph.outputs = [double, total]
    graph.replace(double, y)
    graph.sweep()
    assert graph.outputs[0] is y
    assert [op.name for op in graph.ops] == ["ADD"] and graph.ops[0].inputs == [y, y]
    assert len(y.uses) == 2 and not x.uses
    verify(graph, SPEC)


def test_set_input_and_insert_keep_the_graph_sound() -> None:
    graph = Graph()
    x = graph.input("x", (2,), DType.FP32)
    last = graph.append("ADD", [x, x])
    graph.outputs = [last.output]
    absolute = graph.insert_before(last, "ABS", [x]).output
    graph.set_input(last, 1, absolute)
    verify(graph, SPEC)
    assert last.inputs == [x, absolute] and len(x.uses) == 2


TORCH_TYPES = ["bool", "int8", "int16", "int32", "float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("name", TORCH_TYPES)
def test_torch_types_and_back(name: str) -> None:
    torch = pytest.importorskip("torch")
    dtype = torch_to_tosa(getattr(torch, name))
    assert tosa_to_torch(dtype) is getattr(torch, name)
    assert numpy_dtype(dtype).itemsize == torch.empty((), dtype=getattr(torch, name)).element_size()


@pytest.mark.parametrize(("name", "fix"), [("int64", "convert to int32"), ("float64", "convert to float32")])
def test_types_without_a_tosa_type_are_refused(name: str, fix: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(Rejected, match=rf"no type {name} \({fix}\)"):
        torch_to_tosa(getattr(torch, name))


def test_the_tosa_side_does_not_import_torch() -> None:
    modules = "ir graph table serializer loader verifier reference_model specification dtypes"
    code = "import sys\n" + "".join(f"import arm_tosa_core.tosa.{name}\n" for name in modules.split())
    subprocess.run([sys.executable, "-c", code + "assert 'torch' not in sys.modules"], check=True, timeout=60)


@pytest.mark.parametrize(("count", "concats"), [(1, 0), (2, 1), (64, 1), (65, 2), (129, 3), (64 * 64 + 1, 66)])
def test_tensors_are_joined_by_as_many_concats_as_their_lists_take(count: int, concats: int) -> None:
    graph = Graph()
    rows = [graph.constant(np.full((1, 2), i, np.float32), DType.FP32) for i in range(count)]
    made = joined(lambda group: graph.append("CONCAT", group, {"axis": 0}).output, rows)
    assert made.shape == (count, 2)
    assert len(graph.ops) == concats
    graph.outputs = [made]
    verify(graph, SPEC)
