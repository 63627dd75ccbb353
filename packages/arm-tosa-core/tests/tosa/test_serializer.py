"""Flatbuffers: deterministic, round-tripping, and refused with a reason when damaged."""

from __future__ import annotations

import random
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from arm_tosa_core.support.errors import LoweringError, UsageError
from arm_tosa_core.tosa import serializer
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Origin, Tensor
from arm_tosa_core.tosa.loader import listed_operators, load
from arm_tosa_core.tosa.packing import pack, unpack
from arm_tosa_core.tosa.reference_model import run, validate
from arm_tosa_core.tosa.serializer import OP_NUMBERS, serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.table import OPERATORS

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+FP")


def small() -> Graph:
    """(x * 2 reshaped, x) in float."""
    graph = Graph()
    x = graph.input("x é", (2, 3), DType.FP32)
    two = graph.constant(np.full((1, 1), 2, np.float32), DType.FP32)
    shift = graph.constant(np.zeros(1, np.int8), DType.INT8)
    y = graph.append("MUL", [x, two, shift], origin=Origin("mul", "aten.mul.Tensor", "model.py:3")).output
    y = graph.append("RESHAPE", [y, graph.shape([6])]).output
    y.name = "y"
    graph.outputs = [y]
    return graph


def test_operators_have_the_numbers_of_their_attributes() -> None:
    from tosa.Attribute import Attribute

    tables = {n.removesuffix("Attribute").upper(): v for n, v in vars(Attribute).items() if n.endswith("Attribute")}
    assert {name: tables[name.replace("_", "")] for name in OP_NUMBERS} == OP_NUMBERS


@pytest.mark.parametrize("name", [name for name, operator in OPERATORS.items() if operator.attributes])
def test_attributes_are_the_schemas_fields_in_order(name: str) -> None:
    import importlib
    import re
    from pathlib import Path

    tables = {p.stem.upper(): p for p in Path(importlib.import_module("tosa").__path__[0]).glob("*Attribute.py")}
    source = tables[name.replace("_", "") + "ATTRIBUTE"].read_text()
    slots = re.findall(r"\n    builder\.Prepend\w+Slot\((\d+), (?:[\w.]+\()?(\w+)", source)
    fields = [re.sub("([A-Z])", r"_\1", field).lower() for _, field in sorted(slots, key=lambda slot: int(slot[0]))]
    assert [a.name for a in OPERATORS[name].attributes if a.stored] == fields


def test_equal_graphs_give_equal_bytes_that_are_valid_and_run() -> None:
    tosa = serialize(small(), SPEC)
    assert serialize(small(), SPEC) == tosa
    validate(tosa, SPEC)
    (y,) = run(tosa, [np.arange(6, dtype=np.float32).reshape(2, 3)])
    np.testing.assert_array_equal(y, np.arange(6, dtype=np.float32) * 2)


@pytest.mark.parametrize("locations", [False, True])
def test_round_trip(locations: bool) -> None:
    tosa = serialize(small(), SPEC, locations=locations)
    graph = load(tosa)
    assert serialize(graph, SPEC, locations=locations) == tosa
    assert [t.name for t in (*graph.inputs, *graph.outputs)] == ["x é", "y"]
    assert (graph.ops[0].origin is not None) == locations
    assert (b"model.py:3" in tosa) == locations


def test_readable_names_are_those_of_the_model() -> None:
    def build() -> Graph:
        graph = Graph()
        x = graph.input("x", (2, 3), DType.FP32)
        for origin in (Origin("mul", "aten.mul.Tensor", module="block.0"), Origin("mul_1", "aten.mul.Tensor"), None):
            for _ in range(2):
                two = graph.constant(np.full((1, 1), 2, np.float32), DType.FP32)
                shift = graph.constant(np.zeros(1, np.int8), DType.INT8)
                x = graph.append("MUL", [x, two, shift], origin=origin).output
        graph.outputs = [graph.append("ABS", [x]).output]
        return graph

    tosa = serialize(build(), SPEC, readable=True)
    validate(tosa, SPEC)
    assert [row.tensor for row in listed_operators(tosa)] == [
        *("block.0/mul/MUL/input2", "block.0/mul/MUL/shift", "block.0/mul/MUL", "block.0/mul/MUL_1"),
        *("mul_1/MUL", "mul_1/MUL_1", "t0", "t1", "output_1"),
    ]
    assert serialize(build(), SPEC, readable=True) == tosa == serialize(load(tosa), SPEC)


def test_numbers_and_names_that_look_like_numbers_differ() -> None:
    graph = Graph()
    x = graph.input("x", (2,), DType.FP32)
    first = graph.append("ABS", [x]).output
    second = graph.append("ABS", [first]).output
    second.name = "t0"
    graph.outputs = [graph.append("ADD", [first, second]).output]
    tosa = serialize(graph, SPEC)
    validate(tosa, SPEC)
    assert [row.tensor for row in listed_operators(tosa)] == ["t0", "t0_1", "output_1"]


def outputs_that_are_inputs(graph: Graph) -> list[Tensor]:
    return [graph.input(name, (2,), DType.FP32) for name in "xyz"]


def outputs_that_are_constants(graph: Graph) -> list[Tensor]:
    graph.input("x", (2,), DType.FP32)
    return [graph.constant(np.array([1, 2], np.float32), DType.FP32)]


def outputs_listed_twice(graph: Graph) -> list[Tensor]:
    y = graph.append("ABS", [graph.input("x", (2,), DType.FP32)]).output
    return [y, y]


def names_that_collide(graph: Graph) -> list[Tensor]:
    x, t0 = graph.input("t0", (2,), DType.FP32), graph.input("t0", (2,), DType.FP32)
    y = graph.append("ADD", [graph.append("ABS", [x]).output, t0]).output
    y.name = "t0"
    return [y]


@pytest.mark.parametrize(
    "build", [outputs_that_are_inputs, outputs_that_are_constants, outputs_listed_twice, names_that_collide]
)
def test_unusual_inputs_and_outputs(build: Callable[[Graph], list[Tensor]]) -> None:
    graph = Graph()
    graph.outputs = build(graph)
    tosa = serialize(graph, SPEC)
    validate(tosa, SPEC)
    assert serialize(load(tosa), SPEC) == tosa
    results = run(tosa, [np.array([1, 2], np.float32) for _ in graph.inputs])
    expected = [2, 4] if len(graph.inputs) == 2 else [1, 2]
    assert [r.tolist() for r in results] == [expected] * len(graph.outputs)


def test_equal_constants_are_written_once() -> None:
    graph = Graph()
    x = graph.input("x", (64,), DType.FP32)
    data = np.arange(64, dtype=np.float32)
    for _ in range(2):  # not through graph.constant, which would make them one
        x = graph.append("ADD", [x, Tensor((64,), DType.FP32, data=data.copy())]).output
    graph.outputs = [x]
    assert serialize(graph, SPEC).count(data.tobytes()) == 1


PACKED = [
    (DType.INT4, np.array([1, -2, 7], np.int8), b"\xe1\x07"),
    (DType.INT48, np.array([-1, 1 << 40], np.int64), b"\xff" * 6 + b"\0\0\0\0\0\x01"),
    (DType.BOOL, np.array([True, False]), b"\x01\x00"),
    (DType.BF16, np.array([1, -2], ml_dtypes.bfloat16), b"\x80\x3f\x00\xc0"),
    (DType.INT16, np.array([[-2], [3]], np.int16), b"\xfe\xff\x03\x00"),
    (DType.SHAPE, np.array([-1], np.int64), b"\xff" * 8),
    (DType.FP32, np.array(1.5, np.float32), b"\x00\x00\xc0\x3f"),
]


@pytest.mark.parametrize(("dtype", "values", "packed"), PACKED)
def test_packing(dtype: DType, values: np.ndarray, packed: bytes) -> None:
    assert pack(values, dtype) == packed
    back = unpack(np.frombuffer(packed + b"\0\0", np.uint8), values.shape, dtype)
    assert back.dtype == values.dtype and back.shape == values.shape
    np.testing.assert_array_equal(back, values)


def test_damaged_files_are_usage_errors() -> None:
    whole = serialize(small(), SPEC)
    draw = random.Random(0)
    refused = 0
    for trial in range(500):
        data = bytearray(whole)
        if trial % 2:
            data = data[: draw.randrange(len(data))]
        for _ in range(3):
            if len(data) > 8:
                data[draw.randrange(8, len(data))] = draw.randrange(256)
        try:
            load(bytes(data))
        except UsageError:
            refused += 1
    assert refused > 300  # the others differ in names and constants only


def edited(op: str, edit: Callable[[Graph, Op], None]) -> bytes:
    graph = small()
    edit(graph, next(o for o in graph.ops if o.name == op))
    return serialize(graph, SPEC)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a TOSA flatbuffer"),
        (b"\x08\x00\x00\x00TFL3" + bytes(40), "not a TOSA flatbuffer"),
        (serialize(small(), SPEC)[:60], "damaged"),
        (edited("RESHAPE", lambda g, op: setattr(op.output, "shape", (7,))), r"RESHAPE makes FP32\[6\].*declared"),
        (edited("MUL", lambda g, op: setattr(g.inputs[0], "shape", (0, 3))), "x é has the shape"),
        (edited("MUL", lambda g, op: setattr(op.output, "dtype", DType.INT8)), "MUL makes FP32"),
    ],
)
def test_files_that_cannot_be_loaded(data: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        load(data)


def test_unwritable_graphs() -> None:
    graph = Graph()
    graph.outputs = [graph.append("IDENTITY", [graph.input("x", (1,), DType.UINT16)]).output]
    with pytest.raises(LoweringError, match="TOSA has no tensors of type UINT16"):
        serialize(graph, SPEC)
    graph = small()
    last = graph.ops[-1]
    graph.ops.remove(last)
    graph.ops.insert_before(graph.ops[0], last)
    with pytest.raises(LoweringError, match="RESHAPE uses a tensor that no earlier operator makes"):
        serialize(graph, SPEC)


def test_too_large_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(serialize(small(), SPEC))
    monkeypatch.setattr(serializer, "MOST_BYTES", size)
    serialize(small(), SPEC)
    monkeypatch.setattr(serializer, "MOST_BYTES", size - 1)
    with pytest.raises(LoweringError, match="the TOSA flatbuffer takes 0 MiB, and .* quantize the weights"):
        serialize(small(), SPEC)
