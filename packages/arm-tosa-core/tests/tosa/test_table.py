"""The operator table against its judges: every row is built, validated by tosa-opt and run by the reference model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from packaging.version import Version

from arm_tosa_core.support.errors import LoweringError, Rejected, ToolError
from arm_tosa_core.tosa import table, table_checks
from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.reference_model import run, validate
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.shape_arithmetic import ELEMENTWISE, known_shape
from arm_tosa_core.tosa.specification import EXTENSIONS, TosaSpecification
from arm_tosa_core.tosa.verifier import verify

I8, I16, I32, I48, F16, F32 = DType.INT8, DType.INT16, DType.INT32, DType.INT48, DType.FP16, DType.FP32

#: Operand shapes and attributes with which each operator can be built; a list is the value of a SHAPE operand.
SAMPLES: dict[str, tuple[list[tuple[int, ...] | list[int]], dict[str, Any]]] = {
    "ARGMAX": ([(2, 3)], {"axis": 1}),
    "AVG_POOL2D": ([(1, 4, 4, 2), (1,), (1,)], {"kernel": (2, 2), "stride": (2, 2)}),
    "CONV2D": ([(1, 5, 5, 2), (3, 3, 3, 2), (3,), (1,), (1,)], {"stride": (2, 2)}),
    "CONV3D": ([(1, 3, 3, 3, 2), (3, 2, 2, 2, 2), (1,), (1,), (1,)], {"pad": (1, 0, 0, 0, 0, 0)}),
    "DEPTHWISE_CONV2D": ([(1, 5, 5, 2), (3, 3, 2, 2), (4,), (1,), (1,)], {"dilation": (2, 2)}),
    "TRANSPOSE_CONV2D": ([(1, 2, 2, 2), (3, 2, 2, 2), (3,), (1,), (1,)], {"stride": (2, 2), "out_pad": (-1, 0, 0, 1)}),
    "FFT2D": ([(1, 2, 4), (1, 2, 4)], {"inverse": True}),
    "RFFT2D": ([(1, 2, 4)], {}),
    "MATMUL": ([(1, 2, 3), (1, 3, 4), (1,), (1,)], {}),
    "AVG_POOL2D_ADAPTIVE": ([(1, 4, 4, 2), (1,), (1,), [2, 2], [2, 2], [0, 0, 0, 0]], {}),
    "MAX_POOL2D_ADAPTIVE": ([(1, 4, 4, 2), [3, 3], [2, 2], [1, 0, 0, 1]], {}),
    "MAX_POOL2D": ([(1, 4, 4, 2)], {"kernel": (3, 3), "pad": (1, 0, 0, 1), "stride": (2, 2)}),
    "CLAMP": ([(2, 3)], {"min_val": 0, "max_val": 6}),
    "NEGATE": ([(2, 3), (1,), (1,)], {}),
    "SELECT": ([(2, 1), (1, 3), (2, 3)], {}),
    "MUL": ([(2, 3), (1, 3), (1,)], {}),
    "CONCAT": ([(2, 3), (2, 1)], {"axis": 1}),
    "PAD": ([(2, 3), [1, 0, 0, 2], (1,)], {}),
    "RESHAPE": ([(2, 3), [3, 1, 2]], {}),
    "REVERSE": ([(2, 3)], {"axis": 0}),
    "SLICE": ([(2, 3), [0, 1], [2, 2]], {}),
    "TILE": ([(2, 3), [1, 2]], {}),
    "TRANSPOSE": ([(2, 3)], {"perms": (1, 0)}),
    "GATHER": ([(1, 3, 2), (1, 4)], {}),
    "ROW_GATHER": ([(1, 3, 2), (1, 4), (1,)], {}),
    "ROW_GATHER_BLOCK_SCALED": ([(1, 3, 64), (1, 3, 2), (1, 4), (1,)], {}),
    "RESHAPE_BLOCK_SCALED": ([(2, 64), (2, 2), [4, 32]], {}),
    "DIM": ([(2, 3)], {"axis": 1}),
    "CONCAT_SHAPE": ([[2], [3, 1]], {}),
    "SLICE_SHAPE": ([[2, 3, 4], (1,), (1,)], {}),
    "ASSERT_EQUAL_SHAPE": ([[2, 3], [2, 1]], {"allow_broadcast": True}),
    **{name: ([[3, 5]] * (1 if name.startswith(("EXP2", "LOG2")) else 2), {}) for name in ELEMENTWISE},
    "SUB_SHAPE": ([[6, 5], [4, 2]], {}),
    "MOD_SHAPE": ([[7, 5], [4, 3]], {}),
    "SCATTER": ([(1, 3, 2), (1, 1), (1, 1, 2)], {}),
    "RESIZE": ([(1, 2, 2, 1), [4, 2, 4, 2], [0, 0], [0, 0]], {}),
    "CAST": ([(2, 3)], {}),
    "MATMUL_T": ([(2, 2, 3), (1, 4, 3), (1,), (1,)], {}),
    "CAST_TO_BLOCK_SCALED": ([(2, 32)], {}),
    "CAST_FROM_BLOCK_SCALED": ([(2, 64), (2, 2)], {}),
    "MATMUL_T_BLOCK_SCALED": ([(2, 2, 64), (2, 2, 2), (1, 3, 64), (1, 3, 2)], {}),
    "CONV2D_BLOCK_SCALED": (
        [(1, 4, 3, 32), (1, 4, 3, 1), (2, 2, 1, 32), (2, 2, 1, 1), (2,), [1, 2, 0, 0], [1, 2], [2, 1]],
        {},
    ),
    "RESCALE": ([(2, 3), (3,), (3,), (1,), (1,)], {"per_channel": True}),
}
_ONE: tuple[list[tuple[int, ...] | list[int]], dict[str, Any]] = ([(2, 3)], {})
_TWO: tuple[list[tuple[int, ...] | list[int]], dict[str, Any]] = ([(2, 3), (1, 3)], {})
RESCALE_INT48 = [(1, I16), (2, I8), (0, I48), (0, I32)]


def rows() -> Iterator[tuple[str, tuple[DType, ...], frozenset[str]]]:
    """Operator, signature and one set of words that admits it."""
    for name, operator in table.OPERATORS.items():
        for signature, alternatives in operator.signatures.items():
            for words in alternatives:
                yield name, signature, words


def specification(words: frozenset[str]) -> TosaSpecification:
    """The smallest specification that has ``words``."""
    profiles = {EXTENSIONS[word][1] for word in words if word in EXTENSIONS} | (words & {"INT", "FP"})
    extensions = words - {"INT", "FP", "1.1"}
    later = "1.1" in words or any(EXTENSIONS[word][2].minor for word in extensions)
    return TosaSpecification(frozenset(profiles - {""} or {"INT"}), extensions, version=Version(f"1.{int(later)}"))


def add_row(graph: Graph, name: str, signature: tuple[DType, ...]) -> Op:
    """Adds the operator with operands of these types, as graph inputs where that is possible."""
    operator = table.OPERATORS[name]
    shapes, given = SAMPLES.get(name, _TWO if len(operator.operands) == 2 else _ONE)
    if name == "TABLE":
        shapes = [(2, 3), (513,) if signature[0] is I16 else (256,)]
    attrs = dict(given)
    if operator.has_accumulator:
        attrs["acc_type"] = signature[len(operator.typed)]
    if any(attribute.name == "output_dtype" for attribute in operator.attributes):
        attrs["output_dtype"] = signature[-2 if name == "CAST_TO_BLOCK_SCALED" else -1]
    if name == "RESIZE":
        attrs["mode"] = "NEAREST_NEIGHBOR" if signature[0] is signature[1] else "BILINEAR"
    if name.startswith("REDUCE"):
        attrs["axis"] = 1
    if name == "RESCALE":
        attrs["scale32"] = signature[0] is not I48
    types = iter(signature)
    inputs: list[Tensor] = []
    for position, shape in enumerate(shapes):
        if isinstance(shape, list):
            inputs.append(graph.shape(shape))
            continue
        operand = operator.operands[0 if operator.variadic else position]
        if operand.typed and not (operator.variadic and position):
            dtype = next(types)
        elif operator.variadic:
            dtype = signature[0]
        else:
            dtype = I8 if operand.name == "shift" else (I32 if attrs.get("scale32", True) else I16)
        if operand.kind == table.CONST or dtype in (DType.INT4, I48):
            zero = operand.name.endswith("zp") or (name == "MUL" and operand.name == "shift")
            value = 0 if zero else 30 if operand.name == "shift" else 1
            graph_constant = np.full(shape, value).astype(numpy_dtype(dtype))
            inputs.append(graph.constant(graph_constant, dtype))
        else:
            inputs.append(graph.input(f"{operand.name}{len(graph.inputs)}", shape, dtype))
    if name == "RESCALE":
        attrs |= {"input_unsigned": signature[0] is DType.UINT8, "output_unsigned": signature[-1] is DType.UINT8}
    op = graph.append(name, inputs, attrs)
    if name == "CAST_TO_BLOCK_SCALED":  # the reference model gives back neither scales nor what has less than 8 bits
        op_back = graph.append("CAST_FROM_BLOCK_SCALED", op.outputs, {"output_dtype": signature[0]})
        graph.outputs.append(op_back.output)
        return op
    if name.endswith("_BLOCK_SCALED") and len(op.outputs) == 2:
        graph.outputs.append(graph.append("CAST_FROM_BLOCK_SCALED", op.outputs, {"output_dtype": F32}).output)
        return op
    for result in op.outputs:
        if result.dtype is DType.SHAPE:  # no output of a graph: it says how often a number is repeated
            ones = graph.constant(np.ones([1] * result.size, np.bool_), DType.BOOL)
            graph.outputs.append(graph.append("TILE", [ones, result]).output)
        elif result.dtype is I48:  # the reference model gives back neither INT48 nor INT4
            ones = [graph.constant(np.full(1, value).astype(numpy_dtype(t)), t) for value, t in RESCALE_INT48]
            graph.outputs.append(
                graph.append("RESCALE", [result, *ones], {"scale32": False, "output_dtype": I32}).output
            )
        elif result.dtype is not DType.INT4:
            graph.outputs.append(result)
    return op


BY_SPEC: dict[str, list[tuple[str, tuple[DType, ...]]]] = defaultdict(list)
for _name, _signature, _words in rows():
    BY_SPEC[str(specification(_words))].append((_name, _signature))


@pytest.mark.parametrize("spec_text", BY_SPEC)
def test_every_row_is_valid_and_runs(spec_text: str) -> None:
    spec = TosaSpecification.create_from_string(spec_text)
    graph = Graph()
    for name, signature in BY_SPEC[spec_text]:
        op = add_row(graph, name, signature)
        assert table_checks.signature(op) == signature
        table_checks.check(op, spec)
    verify(graph, spec)
    tosa = serialize(graph, spec)
    assert serialize(load(tosa), spec) == tosa
    validate(tosa, spec)
    inputs = [
        np.full(t.shape, 0 if t.name.startswith("indices") else 1).astype(numpy_dtype(t.dtype)) for t in graph.inputs
    ]
    outputs = run(tosa, inputs)
    in_file = {DType.UINT8: DType.INT8}  # TOSA has one type of 8 bits
    expected = [(t.shape, numpy_dtype(in_file.get(t.dtype, t.dtype))) for t in graph.outputs]
    assert [(o.shape, o.dtype) for o in outputs] == expected


def test_operators_of_any_types() -> None:
    assert {name: op.extension for name, op in table.OPERATORS.items() if not op.signatures} == {
        "CUSTOM": "",
        "WHILE_LOOP": "cf",
    }


@pytest.mark.parametrize(
    ("name", "operands", "values"),
    [
        ("ADD_SHAPE", ([3, 3], [4, -2]), [7, 1]),
        ("SUB_SHAPE", ([3, 3], [1, 2]), [2, 1]),
        ("MUL_SHAPE", ([3, 2], [2, 2]), [6, 4]),
        ("DIV_CEIL_SHAPE", ([7, 8], [4, 4]), [2, 2]),
        ("DIV_FLOOR_SHAPE", ([7, 8], [4, 4]), [1, 2]),
        ("MOD_SHAPE", ([7, 9], [4, 4]), [3, 1]),
        ("MAX_SHAPE", ([7, 1], [4, 4]), [7, 4]),
        ("MIN_SHAPE", ([7, 1], [4, 4]), [4, 1]),
        ("EXP2_SHAPE", ([0, 3],), [1, 8]),
        ("LOG2_CEIL_SHAPE", ([8, 5, 2],), [3, 3, 1]),
        ("LOG2_FLOOR_SHAPE", ([8, 5, 2],), [3, 2, 1]),
        ("CONCAT_SHAPE", ([2], [3, 4]), [2, 3, 4]),
    ],
)
def test_numbers_of_shapes_are_those_of_the_reference_model(
    name: str, operands: tuple[list[int], ...], values: list[int]
) -> None:
    spec = TosaSpecification.create_from_string("TOSA-1.1+INT+shape")
    graph = Graph()
    x = graph.input("x", tuple(operands[0]) if name == "SUB_SHAPE" else (1,) * len(values), I32)
    # The first operand comes from a tensor where it can: nothing in the file then says its numbers.
    taken = [graph.append("DIM", [x], {"axis": axis}).output for axis in range(2)] if name == "SUB_SHAPE" else []
    first = graph.append("CONCAT_SHAPE", taken).output if taken else graph.shape(operands[0])
    made = graph.append(name, [first, *map(graph.shape, operands[1:])]).output
    assert known_shape(made) == values
    one = graph.constant(np.ones((1,) * len(values), np.int32), I32)
    tiled = graph.append("TILE", [one, made]).output
    graph.outputs = [tiled]
    assert list(tiled.shape) == values
    verify(graph, spec)
    (result,) = run(serialize(graph, spec), [np.ones(x.shape, np.int32)])
    assert list(result.shape) == values


def test_rows_are_gathered_as_by_the_reference_model() -> None:
    graph = Graph()
    values, indices = graph.input("values", (1, 5, 2), I8), graph.input("indices", (1, 2), I32)
    graph.outputs = [graph.append("ROW_GATHER", [values, indices, graph.constant(np.array([2], np.int32), I32)]).output]
    rows = np.arange(10, dtype=np.int8).reshape(1, 5, 2)
    spec = TosaSpecification.create_from_string("TOSA-1.1+INT")
    (result,) = run(serialize(graph, spec), [rows, np.array([[3, 0]], np.int32)])
    np.testing.assert_array_equal(result, rows[:, [3, 4, 0, 1]])


def op_with(
    name: str, operands: list[tuple[tuple[int, ...], DType] | list[int]], **attrs: Any
) -> Callable[[Graph], Op]:
    """Builds one operator; operands that the table wants constant are zeros."""

    def build(graph: Graph) -> Op:
        inputs = []
        operator = table.OPERATORS[name]
        for position, operand in enumerate(operands):
            if isinstance(operand, list):
                inputs.append(graph.shape(operand))
                continue
            shape, dtype = operand
            if not operator.variadic and operator.operands[position].kind == table.CONST:
                inputs.append(graph.constant(np.zeros(shape, numpy_dtype(dtype)), dtype))
            else:
                inputs.append(graph.input(f"x{position}", shape, dtype))
        return graph.append(name, inputs, attrs)

    return build


ONE = ((1,), I8)
CONV = [((1, 8, 8, 2), I8), ((3, 3, 3, 2), I8), ((3,), I32), ONE, ONE]

CHECK_REFUSES = [
    (op_with("CLAMP", [((3,), I32)], min_val=0, max_val=1), "INT", r"CLAMP takes INT8 in TOSA-1.0\+INT; got INT32"),
    (op_with("CLAMP", [((3,), I16)], min_val=0, max_val=1), "INT", r"needs int16 in the specification"),
    (op_with("SIGMOID", [((3,), F32)]), "INT", r"SIGMOID is not in TOSA-1.0\+INT \(needs FP"),
    (op_with("ADD", [((3,), I8), ((3,), I8)]), "INT", "ADD takes INT32"),
    (op_with("ADD", [((3,), F32), ((3,), F16)]), "FP", r"ADD takes \(FP32, FP32, FP32\)"),
    (op_with("CAST", [((3,), F32)], output_dtype=DType.BF16), "FP", "needs bf16 in"),
    (op_with("CAST", [((3,), F32)], output_dtype=DType.BOOL), "FP", r"needs TOSA-1.1 in"),
    (op_with("ABS", [((3,), DType.INT64)]), "INT", r"needs TOSA-1.1\+int64 in"),
    (op_with("DIM", [((3,), I8)], axis=0), "INT", r"DIM is not in TOSA-1.0\+INT \(needs TOSA-1.1\+shape"),
    (op_with("MAX_POOL2D_ADAPTIVE", [((1, 2, 2, 1), I8), [2, 2], [1, 1], [0] * 4]), "INT", "needs TOSA-1.1 in"),
    (
        op_with("CAST_TO_BLOCK_SCALED", [((3, 32), F32)], output_dtype=DType.FP4E2M1),
        "FP",
        r"is not in TOSA-1.0\+FP \(needs TOSA-1.1\+mxfp in",
    ),
    (op_with("ABS", [((1, 1, 1, 1, 1, 1, 2), I32)]), "INT", "rank 7 exceeds MAX_RANK = 6"),
    (op_with("CONCAT", [((1,), I8)] * 65, axis=0), "INT", "number of operands .65. exceeds MAX_TENSOR_LIST_SIZE = 64"),
    (
        op_with("MAX_POOL2D", [((1, 8193, 1, 1), I8)], kernel=(8193, 1)),
        "INT",
        "kernel .8193, 1. exceeds MAX_KERNEL = 8192",
    ),
    (
        op_with("MAX_POOL2D", [((1, 1, 1, 1), I8)], kernel=(1, 1), stride=(1, 8193)),
        "INT",
        "stride .1, 8193. exceeds MAX_STRIDE = 8192",
    ),
    (
        op_with("RESIZE", [((1, 1, 1, 1), I8), [257, 1, 1, 1], [0, 0], [0, 0]], mode="NEAREST_NEIGHBOR"),
        "INT",
        "scale exceeds MAX_SCALE = 256",
    ),
    (op_with("TILE", [((1 << 16, 1), I8), [1, 1 << 16]]), "INT", r"exceeds 2\*\*31 bytes"),
]


@pytest.mark.parametrize(("build", "profile", "reason"), CHECK_REFUSES)
def test_check_refuses_what_tosa_opt_refuses(build: Callable[[Graph], Op], profile: str, reason: str) -> None:
    spec = TosaSpecification.create_from_string(f"TOSA-1.0+{profile}")
    graph = Graph()
    op = build(graph)
    graph.outputs = op.outputs
    with pytest.raises(Rejected, match=reason):
        table_checks.check(op, spec)
    with pytest.raises(ToolError, match="error"):
        validate(serialize(graph, spec), spec)


INFER_REFUSES = [
    (op_with("CONV2D", CONV, stride=(2, 2)), "the stride 2 to divide the padded input minus the kernel, 5"),
    (op_with("CONV2D", CONV, dilation=(4, 4)), "kernel is larger than the padded input"),
    (op_with("CONV2D", CONV, pad=(-1, 0, 0, 0)), "pad must not be negative"),
    (op_with("CONV2D", [CONV[0], ((3, 3, 3, 4), I8), *CONV[2:]]), "input has 2 channels, weight takes 4"),
    (op_with("CONV2D", [*CONV[:2], ((2,), I32), ONE, ONE]), r"bias must have shape \[3\] or \[1\], got \[2\]"),
    (op_with("AVG_POOL2D", [((1, 4, 4, 1), I8), ONE, ONE], kernel=(2, 2), pad=(2, 0, 0, 0)), "less than the kernel"),
    (op_with("ADD", [((2, 3), I32), ((3,), I32)]), r"equal ranks to broadcast, got \[2, 3\] and \[3\]"),
    (op_with("ADD", [((2, 3), I32), ((2, 2), I32)]), "shapes do not broadcast"),
    (op_with("MATMUL", [((1, 2, 3), I8), ((1, 2, 3), I8), ONE, ONE]), "do not multiply"),
    (op_with("RESHAPE", [((2, 3), I8), [7]]), r"cannot reshape \[2, 3\] to \[7\]"),
    (op_with("SLICE", [((4,), I8), [2], [3]]), "outside of"),
    (op_with("TRANSPOSE", [((2, 3), I8)], perms=(0, 0)), "not a permutation"),
    (op_with("CONCAT", [((2, 3), I8), ((3, 3), I8)], axis=1), "differ outside of axis 1"),
    (op_with("REDUCE_SUM", [((2, 3), I32)], axis=2), "axis 2 is outside"),
    (op_with("TABLE", [((2, 3), I8), ((255,), I8)]), r"must have shape \[256\]"),
    (op_with("RFFT2D", [((1, 3, 4), F32)]), "powers of two"),
    (op_with("ADD_SHAPE", [[1, 2], [3]]), "the operands have 2 and 1 numbers; they must have equally many"),
    (op_with("ASSERT_EQUAL_SHAPE", [[1, 2], [3, 2]]), r"the shapes differ: \[1, 2\] and \[3, 2\]"),
    (op_with("DIM", [((2, 3), I8)], axis=2), r"axis 2 is outside of \[2, 3\]"),
    (op_with("MAX_POOL2D_ADAPTIVE", [((1, 2, 2, 1), I8), [2, 2], [1], [0] * 4]), r"stride takes 2 numbers, got \[1\]"),
    (op_with("ROW_GATHER", [((1, 2, 2), I8), ((1, 3), I32), ((1,), I32)]), "row_count 0 is outside of 1 to 2"),
    (
        op_with("RESIZE", [((1, 2, 2, 1), I8), [4, 3, 4, 2], [0, 0], [0, 0]], mode="BILINEAR"),
        "4 is not a multiple of the scale's denominator 3",
    ),
    (
        op_with("RESCALE", [((2,), I32), ((2,), I32), ((2,), I8), ((1,), I32), ONE], output_dtype=I8),
        r"multiplier and shift must have shape \[1\]",
    ),
]


@pytest.mark.parametrize(("build", "reason"), INFER_REFUSES)
def test_infer_refuses_shapes_that_do_not_fit(build: Callable[[Graph], Op], reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        build(Graph())


INFER_GIVES = [
    (op_with("CONV2D", CONV, pad=(1, 0, 1, 0), stride=(2, 2)), [((1, 4, 4, 3), I32)]),
    (
        op_with("CONV2D", [((1, 4, 4, 2), I16), ((3, 1, 1, 2), I8), ((1,), I48), ((1,), I16), ONE]),
        [((1, 4, 4, 3), I48)],
    ),
    (op_with("SELECT", [((2, 1), DType.BOOL), ((1, 3), I8), ((1, 1), I8)]), [((2, 3), I8)]),
    (op_with("ARGMAX", [((2, 3, 4), I8)], axis=1), [((2, 4), I32)]),
    (op_with("RESHAPE", [((1, 1), I8), []]), [((), I8)]),
    (op_with("RFFT2D", [((1, 4, 8), F32)]), [((1, 4, 5), F32)] * 2),
]


@pytest.mark.parametrize(("build", "results"), INFER_GIVES)
def test_infer_gives(build: Callable[[Graph], Op], results: list[tuple[tuple[int, ...], DType]]) -> None:
    assert [(t.shape, t.dtype) for t in build(Graph()).outputs] == results


def test_infer_completes_the_attributes() -> None:
    op = op_with("CONV2D", CONV, pad=[0, 0, 0, 0])(Graph())
    assert op.attrs == {
        "pad": (0, 0, 0, 0),
        "stride": (1, 1),
        "dilation": (1, 1),
        "local_bound": False,
        "acc_type": I32,
    }


@pytest.mark.parametrize(
    ("name", "count", "attrs", "reason"),
    [
        ("ADDD", 2, {}, "ADDD is not an operator of the table of TOSA"),
        ("ADD", 1, {}, "ADD takes 2 operands (input1, input2), got 1"),
        ("ADD", 2, {"alpha": 1}, "ADD has no attribute alpha"),
        ("REDUCE_SUM", 1, {}, "REDUCE_SUM needs the attribute axis"),
        ("MAXIMUM", 2, {"nan_mode": "KEEP"}, "nan_mode is one of PROPAGATE, IGNORE, not 'KEEP'"),
        ("TRANSPOSE_CONV2D", 5, {"stride": (1,)}, "stride takes 2 numbers, got [1]"),
    ],
)
def test_a_fault_of_the_caller_is_a_lowering_error(name: str, count: int, attrs: dict[str, Any], reason: str) -> None:
    graph = Graph()
    inputs = [graph.input("x", (1,), I32) for _ in range(count)]
    with pytest.raises(LoweringError, match=re.escape(reason)):
        graph.append(name, inputs, attrs)


@pytest.mark.parametrize(
    ("name", "position", "attrs"),
    [("PAD", 2, {}), ("MUL", 2, {}), ("TABLE", 1, {}), ("NEGATE", 1, {}), ("RESCALE", 1, {"output_dtype": I8})],
)
def test_operands_that_must_be_constant(name: str, position: int, attrs: dict[str, Any]) -> None:
    graph = Graph()
    signature = next(row for row, words in table.OPERATORS[name].signatures.items() if {"INT"} in words)
    op = add_row(graph, name, signature)
    tensor = op.inputs[position]
    graph.set_input(op, position, graph.input("late", tensor.shape, tensor.dtype))
    operand = table.OPERATORS[name].operands[position].name
    with pytest.raises(Rejected, match=f"{name}: {operand} is not a compile-time constant"):
        table_checks.check(op, TosaSpecification.create_from_string("TOSA-1.0+INT"))
    table_checks.check(op, TosaSpecification.create_from_string("TOSA-1.0+INT+dynamic"))


@pytest.mark.parametrize(
    ("dtype", "unsigned", "zero_point", "refused"),
    [(I8, False, 5, False), (I16, False, 5, True), (I16, True, -32768, False), (I32, False, 1, True)],
)
def test_zero_points_of_rescale(dtype: DType, unsigned: bool, zero_point: int, refused: bool) -> None:
    graph = Graph()
    multiplier, shift = graph.constant(np.array([1 << 30], np.int32), I32), graph.constant(np.array([30], np.int8), I8)
    zp_in = graph.constant(np.array([zero_point], numpy_dtype(dtype)), dtype)
    zp_out = graph.constant(np.array([0], np.int8), I8)
    operands = [graph.input("x", (2,), dtype), multiplier, shift, zp_in, zp_out]
    op = graph.append("RESCALE", operands, {"input_unsigned": unsigned, "output_dtype": I8})
    spec = TosaSpecification.create_from_string("TOSA-1.0+INT")
    if refused:
        with pytest.raises(Rejected, match=f"input_zp of {dtype} must be 0, got {zero_point}"):
            table_checks.check(op, spec)
    else:
        table_checks.check(op, spec)
