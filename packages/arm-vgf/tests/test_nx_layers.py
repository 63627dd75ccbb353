"""Steps of the NX estimator as layers of the graph; databases of the test's own, as Arm's program writes them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_vgf.graph_code import operators_of
from arm_vgf.model_converter import convert
from arm_vgf.nx_databases import WAITING, NxEstimate, NxOperator, NxStep, steps_of
from arm_vgf.nx_estimator import ESTIMATOR
from arm_vgf.nx_layers import UNRATED, in_detail, macs_of

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP+INT")


def network() -> Graph:
    """CAST, RESCALE, TRANSPOSE, CONV2D, two RESCALEs of it, and their sum, which is a float output."""
    builder = Builder(Graph(), SPEC)
    graph = builder.graph
    x = builder.emit("CAST", [graph.input("x", (1, 3, 8, 8), DType.FP32)], output_dtype=DType.INT32)
    image = builder.emit("TRANSPOSE", [builder.rescale(x, [1.0], DType.INT8)], perms=(0, 2, 3, 1))
    weight = np.random.default_rng(0).integers(-9, 9, (4, 3, 3, 3)).astype(np.int8)
    bias = graph.constant(np.arange(4, dtype=np.int32), DType.INT32)
    zeros = [builder.zero_point(0, DType.INT8)] * 2
    attrs = {"pad": (1, 1, 1, 1), "stride": (1, 1), "dilation": (1, 1), "acc_type": DType.INT32}
    wide = builder.emit("CONV2D", [image, graph.constant(weight, DType.INT8), bias, *zeros], **attrs)
    parts = [builder.rescale(builder.rescale(wide, [s], DType.INT8), [1.0], DType.INT32) for s in (0.01, 0.02)]
    graph.outputs = [builder.emit("CAST", [builder.emit("ADD", parts)], output_dtype=DType.FP32)]
    return graph


@pytest.fixture(scope="module")
def made() -> tuple[bytes, bytes, list[tuple[int, Op]]]:
    """The VGF, the flatbuffer, and its operators with the numbers of their results."""
    tosa = serialize(network(), SPEC)
    vgf = convert(tosa)
    results = [operator.result for operator in operators_of(vgf)]
    return vgf, tosa, list(zip(results, load(tosa).ops, strict=True))


def _table(name: str, heads: str, rows: Sequence[str]) -> str:
    body = "\n".join([heads, *rows])
    return f'<table name="{name}">\n<![CDATA[\n{body}\n]]>\n</table>\n'


def databases(labels: Sequence[str], shaders: Sequence[str], kinds: Sequence[str] = ()) -> tuple[str, str]:
    """One step of two stripes for the first operators, and one for the last."""
    names = kinds or [label.partition("_spirv")[0].removeprefix("TOSA").replace("_", "") for label in labels]
    ids = [10 + i for i in range(len(labels))]
    rows = [f"{id}, {name}, {label};" for id, name, label in zip(ids, names, labels, strict=True)]
    debug = _table("tosa_op_id", '"id", "tosa_op", "api_labels"', rows)
    debug += _table("shader_op_id", '"id", "api_labels"', [f"5, {''.join(f'{label};' for label in shaders)}"])
    fused = [f"50, {';'.join(map(str, ids[:-1]))};", f"51, {ids[-1]};"]
    debug += _table("fused_op_id", '"id", "tosa_op_ids"', fused)
    debug += _table("chain_op_id", '"id", "fused_op_ids"', ["60, 50;", "61, 51;"])
    debug += _table("cascade_op_id", '"id", "op_ids"', ["70, 5;", "71, 60;61;"])
    debug += _table(
        "stripe_op_id", '"id", "op_id", "cascade_op_id"', ["0, 5, 70", "1, 60, 71", "2, 60, 71", "3, 61, 71"]
    )
    heads = '"id", "opCycles", "totalCycles", "memoryName;readBytes;writeBytes;trafficCycles", "sectionName;cycles"'
    rated = [
        "3, 5, 100, L1;0;8;0;DRAM;16;4;7;, InputReader;40;OutputWriter;9;",
        "2, 9, 300, L1;0;0;0;DRAM;64;0;20;, InputReader;2;ConvolutionEngine;250;",
        "1, 9, 200, L1;0;0;0;DRAM;100;0;30;, InputReader;3;ConvolutionEngine;190;",
    ]
    return _table("performance", heads, rated), debug


def label_of(row: tuple[int, Op]) -> str:
    return f"TOSA{row[1].name}_spirv_id_{row[0]}"


def estimate_of(labels: Sequence[str], shaders: Sequence[str], kinds: Sequence[str] = ()) -> NxEstimate:
    steps, unrated = steps_of(*databases(labels, shaders, kinds), 600.0)
    return NxEstimate({"cycles": 600.0}, steps, unrated)


def test_steps_are_layers(made: tuple[bytes, bytes, list[tuple[int, Op]]]) -> None:
    """Of the operator that multiplies; stripes are added up, and the largest part of the time is the bound."""
    vgf, tosa, rows = made
    names = [op.name for _, op in rows]
    assert names == ["CAST", "RESCALE", "TRANSPOSE", "CONV2D", *["RESCALE"] * 4, "ADD", "CAST"]
    labels, shaders = [label_of(row) for row in rows[1:9]], [label_of(row) for row in (rows[0], rows[9])]
    compiled = in_detail(vgf, tosa, estimate_of(labels, shaders))
    first, second, *others = compiled.layers
    assert first.kind == " + ".join(names[1:8]) and first.tensor == rows[3][1].output.name
    assert (first.cycles, first.bytes, first.bound) == (500.0, 164, "convolution engine")
    assert first.macs == 8 * 8 * 4 * 27 == macs_of(rows[3][1])
    assert (second.kind, second.tensor) == ("ADD", rows[8][1].output.name)
    assert (second.cycles, second.macs, second.bytes, second.bound) == (100.0, 0, 20, WAITING)
    # The stand-in has both CASTs in one shader, of 3x8x8 floats to INT32, and of 8x8x4 INT32 to floats.
    assert [(each.kind, each.cycles, each.bytes) for each in others] == [(f"CAST + CAST {UNRATED}", 0.0, 3584)]
    assert compiled.estimated_by == ESTIMATOR
    (note,) = compiled.notes
    assert note.startswith("2 operators run on the GPU's shaders") and note.endswith(
        ": CAST; they read and write 3.5 KiB"
    )


def test_a_helper_of_an_operator_is_not_it(made: tuple[bytes, bytes, list[tuple[int, Op]]]) -> None:
    """A Reshape that has the label of the convolution, in a step with other operators, and in one alone."""
    rows = made[2]
    conv, others = label_of(rows[3]), [label_of(row) for row in rows[1:3]]
    beside = estimate_of([*others, conv, conv], [], ["Rescale", "Transpose", "Reshape", "Conv2D"])
    assert [[each.kind for each in step.operators] for step in beside.steps] == [["RESCALE", "TRANSPOSE"], ["CONV2D"]]
    alone = estimate_of([conv, conv], [], ["Conv2D", "Reshape"])
    assert [[each.kind for each in step.operators] for step in alone.steps] == [["CONV2D"], ["CONV2D"]]
    first, second = in_detail(*made[:2], alone).layers
    assert (first.tensor, first.macs > 0) == (second.tensor, True) and second.macs == 0


def test_a_module_that_cannot_be_read(made: tuple[bytes, bytes, list[tuple[int, Op]]]) -> None:
    """Such as one of another form."""
    spoiled = made[0].replace(struct.pack("<I", 0x07230203), b"SPIR")
    assert spoiled != made[0]
    compiled = in_detail(spoiled, made[1], estimate_of([label_of(row) for row in made[2][1:9]], []))
    assert not compiled.layers and compiled.notes[0].startswith("no cycles of single operators: the module cannot be")


Change = Callable[[NxEstimate], NxEstimate]


def _with_operator(operator: NxOperator) -> Change:
    return lambda known: replace(known, steps=[NxStep([operator], 600.0, 0, "DRAM")])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_with_operator(NxOperator("CONV2D", 9999)), "result 9999 of the module is no CONV2D"),
        (lambda known: replace(known, unrated=[[NxOperator("CAST", 9999)]]), "the module has no result 9999"),
        (lambda known: replace(known, problem="no databases"), "no databases"),
    ],
)
def test_what_does_not_agree_is_not_told(
    made: tuple[bytes, bytes, list[tuple[int, Op]]], change: Change, reason: str
) -> None:
    known = estimate_of([label_of(row) for row in made[2][1:9]], [])
    compiled = in_detail(*made[:2], change(known))
    assert not compiled.layers and compiled.figures == known.figures
    assert compiled.notes[0] == f"no cycles of single operators: {reason}"


def _one_less(graph: Graph) -> None:
    last = graph.outputs[0].producer
    assert last is not None
    graph.outputs = list(last.inputs)
    graph.sweep()


def _other_kind(graph: Graph) -> None:
    (add,) = (op for op in graph.ops if op.name == "ADD")
    graph.replace(add.output, graph.insert_before(add, "SUB", add.inputs).output)
    graph.sweep()


def _other_operand(graph: Graph) -> None:
    (add,) = (op for op in graph.ops if op.name == "ADD")
    graph.set_input(add, 0, add.inputs[1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_one_less, "the module has 10 operators, and the graph 9"),
        (_other_kind, "result [0-9]+ of the module is no ADD"),
        (_other_operand, "operator 8 of the graph, ADD, reads other results in the module"),
    ],
)
def test_another_graph_is_seen(
    made: tuple[bytes, bytes, list[tuple[int, Op]]], change: Callable[[Graph], None], reason: str
) -> None:
    graph = load(made[1])
    change(graph)
    compiled = in_detail(made[0], serialize(graph, SPEC), estimate_of([label_of(row) for row in made[2][1:9]], []))
    assert not compiled.layers and re.fullmatch(f"no cycles of single operators: {reason}", compiled.notes[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("_spirv_id_", "_line_", "a label of another form"),
        ('name="chain_op_id"', 'name="chains"', "chain_op_id"),
        ("1, 60, 71\n", "", "no stripe of"),
        ("3, 61, 71", "3, 60, 71", None),
    ],
)
def test_databases_of_another_form(
    made: tuple[bytes, bytes, list[tuple[int, Op]]], old: str, new: str, message: str | None
) -> None:
    performance, debug = databases([label_of(row) for row in made[2][1:9]], [])
    assert old in debug
    debug = debug.replace(old, new)
    if message is None:
        assert [step.cycles for step in steps_of(performance, debug, 600.0)[0]] == [600.0]
        return
    with pytest.raises((ValueError, KeyError), match=message):
        steps_of(performance, debug, 600.0)


def test_cycles_that_do_not_add_up(made: tuple[bytes, bytes, list[tuple[int, Op]]]) -> None:
    with pytest.raises(ValueError, match="600 cycles of 601"):
        steps_of(*databases([label_of(row) for row in made[2][1:9]], []), 601.0)
