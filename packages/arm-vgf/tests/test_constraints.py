"""Every operator and data type of TOSA 1.0: what the checks let through converts, what they refuse does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_tosa_core.support.errors import Rejected, ToolError
from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.shape_arithmetic import ELEMENTWISE
from arm_tosa_core.tosa.specification import EXTENSIONS, TosaSpecification
from arm_tosa_core.tosa.table import CONST, OPERATORS, SHAPE, Operator
from arm_tosa_core.tosa.table_checks import check
from arm_vgf import VgfCompileSpec, model_converter
from arm_vgf.compile_spec import DEFAULT_SPEC
from arm_vgf.constraints import checks_for
from arm_vgf.vgf_format import check_vgf

Signature = tuple[DType, ...]

# Shapes of the operands; for SHAPE operands, their values. Operators that are absent take (2, 4, 4, 3) each.
_SHAPES: dict[str, list[tuple[int, ...]]] = {
    "AVG_POOL2D": [(1, 4, 4, 2), (1,), (1,)],
    "AVG_POOL2D_ADAPTIVE": [(1, 4, 4, 2), (1,), (1,), (2, 2), (1, 1), (0, 0, 0, 0)],
    "MAX_POOL2D_ADAPTIVE": [(1, 4, 4, 2), (2, 2), (1, 1), (0, 0, 0, 0)],
    "CONV2D": [(1, 4, 4, 2), (3, 2, 2, 2), (3,), (1,), (1,)],
    "CONV3D": [(1, 4, 4, 4, 2), (3, 2, 2, 2, 2), (3,), (1,), (1,)],
    "DEPTHWISE_CONV2D": [(1, 4, 4, 2), (2, 2, 2, 1), (2,), (1,), (1,)],
    "TRANSPOSE_CONV2D": [(1, 4, 4, 2), (3, 2, 2, 2), (3,), (1,), (1,)],
    "FFT2D": [(1, 4, 8), (1, 4, 8)],
    "RFFT2D": [(1, 4, 8)],
    "MATMUL": [(1, 2, 3), (1, 3, 4), (1,), (1,)],
    "NEGATE": [(2, 3), (1,), (1,)],
    "MUL": [(2, 3), (2, 3), (1,)],
    "CONCAT": [(2, 3), (2, 3)],
    "MATMUL_T": [(1, 2, 3), (1, 4, 3), (1,), (1,)],
    "CAST_TO_BLOCK_SCALED": [(2, 32)],
    "CAST_FROM_BLOCK_SCALED": [(2, 32), (2, 1)],
    "MATMUL_T_BLOCK_SCALED": [(1, 2, 32), (1, 2, 1), (1, 3, 32), (1, 3, 1)],
    "CONV2D_BLOCK_SCALED": [
        *((1, 4, 4, 32), (1, 4, 4, 1), (3, 2, 2, 32), (3, 2, 2, 1), (3,)),
        *((0, 0, 0, 0), (1, 1), (1, 1)),
    ],
    "PAD": [(2, 3), (1, 1, 0, 2), (1,)],
    "RESHAPE": [(2, 3), (3, 2)],
    "SLICE": [(2, 3), (0, 1), (2, 2)],
    "TILE": [(2, 3), (1, 2)],
    "GATHER": [(1, 4, 3), (1, 2)],
    "ROW_GATHER": [(1, 4, 3), (1, 2), (1,)],
    "ROW_GATHER_BLOCK_SCALED": [(1, 4, 32), (1, 4, 1), (1, 2), (1,)],
    "RESHAPE_BLOCK_SCALED": [(2, 32), (2, 1), (1, 64)],
    "CONCAT_SHAPE": [(2,), (3,)],
    "SLICE_SHAPE": [(2, 3), (1,), (1,)],
    **{name: [(6, 6), (4, 4)][: len(OPERATORS[name].operands)] for name in ELEMENTWISE},
    "ASSERT_EQUAL_SHAPE": [(2, 3), (2, 3)],
    "SCATTER": [(1, 4, 3), (1, 2), (1, 2, 3)],
    "RESIZE": [(1, 4, 4, 2), (2, 1, 2, 1), (0, 0), (1, 1)],
    "RESCALE": [(2, 3), (1,), (1,), (1,), (1,)],
}
_ATTRS: dict[str, dict[str, Any]] = {
    "ARGMAX": {"axis": 1},
    "AVG_POOL2D": {"kernel": (2, 2)},
    "MAX_POOL2D": {"kernel": (2, 2)},
    "CLAMP": {"min_val": 0, "max_val": 1},
    "CONCAT": {"axis": 0},
    "DIM": {"axis": 1},
    "RESIZE": {"mode": "BILINEAR"},
    "REVERSE": {"axis": 0},
    "TRANSPOSE": {"perms": (0, 2, 1, 3)},
    **{f"REDUCE_{kind}": {"axis": 1} for kind in ("ALL", "ANY", "MAX", "MIN", "PRODUCT", "SUM")},
}


def signatures(spec: TosaSpecification) -> Iterator[tuple[str, Signature]]:
    """Every operator and data type combination that ``spec`` admits."""
    for name, operator in OPERATORS.items():
        for types, alternatives in operator.signatures.items():
            if any(words <= spec.words for words in alternatives):
                yield name, types


_UNSIGNED = (DType.UINT8, DType.UINT16)


def sample(name: str, types: Signature, graph: Graph | None = None) -> tuple[Graph, Op]:
    """A graph with this one operator, or ``graph`` with it added; its results become outputs."""
    operator = OPERATORS[name]
    graph = Graph() if graph is None else graph
    inputs = _inputs(graph, operator, types)
    attrs = dict(_ATTRS.get(name, {}))
    if name == "RESIZE" and types[0] is not types[1] and types[0].is_integer:
        attrs["mode"] = "BILINEAR"
    elif name == "RESIZE" and types[0].is_integer:
        attrs["mode"] = "NEAREST_NEIGHBOR"
    if operator.has_accumulator:
        attrs["acc_type"] = types[len(operator.typed)]
    if "output_dtype" in operator.attribute_names:
        attrs["output_dtype"] = types[-2 if name == "CAST_TO_BLOCK_SCALED" else -1]
    if name == "RESCALE" and types[0] is DType.INT48:
        attrs["scale32"] = False
    if name == "RESCALE":
        attrs |= {"input_unsigned": types[0] in _UNSIGNED, "output_unsigned": types[-1] in _UNSIGNED}
    op = graph.append(name, inputs, attrs)
    for result in op.outputs:
        if result.dtype is DType.SHAPE:  # no output of a graph
            one = graph.input("one", (1,) * result.size, DType.INT32)
            graph.outputs.append(graph.append("TILE", [one, result]).output)
        else:
            graph.outputs.append(result)
    if not graph.outputs:
        graph.outputs.append(graph.append("IDENTITY", [graph.input("x", (2,), DType.INT32)]).output)
    return graph, op


def _inputs(graph: Graph, operator: Operator, types: Signature) -> list[Tensor]:
    shapes = _SHAPES.get(operator.name) or [(2, 4, 4, 3)] * len(operator.operands)
    operands = operator.operands * (len(shapes) if operator.variadic else 1)
    remaining = list(types)
    tensors: list[Tensor] = []
    for position, (operand, shape) in enumerate(zip(operands, shapes, strict=True)):
        if operand.kind == SHAPE:
            tensors.append(graph.shape(shape))
            continue
        typed = operand.typed and not (operator.variadic and position > 0)
        dtype = remaining.pop(0) if typed else _untyped(operator.name, operand.name, tensors)
        if operator.name == "TABLE" and operand.name == "table":
            shape = (256 if dtype is DType.INT8 else 513,)
        if operand.kind == CONST:
            value = (
                1
                if operand.name in ("multiplier", "size")
                else 2
                if operand.name == "row_count" or (operator.name == "RESCALE" and operand.name == "shift")
                else 0
            )
            tensors.append(graph.constant(np.full(shape, value, numpy_dtype(dtype)), dtype))
        else:
            tensors.append(graph.input(f"input_{len(graph.inputs)}", shape, dtype))
    return tensors


def _untyped(operator: str, operand: str, before: list[Tensor]) -> DType:
    if operator == "RESCALE" and operand == "multiplier":
        return DType.INT16 if before[0].dtype is DType.INT48 else DType.INT32
    if operand in ("row_count", "start", "size"):
        return DType.INT32
    return DType.INT8 if operand == "shift" else before[0].dtype


EVERYTHING = TosaSpecification.create_from_string("+".join(["TOSA-1.1", "INT", "FP", *EXTENSIONS]))


def refusal(op: Op, flags: tuple[str, ...] = ()) -> Rejected | None:
    """The first refusal of the checks, or None."""
    return next((why for why in (ask(op) for ask in checks_for(flags)) if why is not None), None)


@pytest.fixture
def kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failing conversions leave their input in the test's folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_all_that_the_default_specification_admits_converts() -> None:
    spec = TosaSpecification.create_from_string(DEFAULT_SPEC)
    graph, count = Graph(), 0
    for name, types in signatures(spec):
        _, op = sample(name, types, graph)
        check(op, spec)
        assert refusal(op) is None
        count += 1
    assert count > 250
    check_vgf(model_converter.convert(serialize(graph, spec)))


_EXTRA = sorted(
    set(signatures(EVERYTHING)) - set(signatures(TosaSpecification.create_from_string(DEFAULT_SPEC))), key=str
)


@pytest.mark.parametrize(("name", "types"), _EXTRA, ids=[f"{n}-{'-'.join(map(str, t))}" for n, t in _EXTRA])
@pytest.mark.usefixtures("kept_here")
def test_checks_agree_with_the_converter_on_the_other_extensions(name: str, types: Signature) -> None:
    graph, op = sample(name, types)
    check(op, EVERYTHING)
    tosa = serialize(graph, EVERYTHING)
    if refusal(op) is None:
        model_converter.convert(tosa)
    else:
        with pytest.raises(ToolError):
            model_converter.convert(tosa)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.usefixtures("kept_here")
def test_a_row_gather_of_one_row_converts(rows: int) -> None:
    graph = Graph()
    count = graph.constant(np.array([rows], np.int32), DType.INT32)
    values, indices = graph.input("values", (1, 4, 3), DType.INT8), graph.input("indices", (1, 2), DType.INT32)
    op = graph.append("ROW_GATHER", [values, indices, count])
    graph.outputs.append(op.output)
    tosa = serialize(graph, EVERYTHING)
    assert (refusal(op) is None) == (rows == 1)
    if rows == 1:
        check_vgf(model_converter.convert(tosa))
    else:
        with pytest.raises(ToolError):
            model_converter.convert(tosa)


def _custom(domain: str) -> tuple[Graph, Op]:
    graph = Graph()
    attrs = {"operator_name": "op", "domain_name": domain, "results": (((2, 3), DType.FP32),)}
    op = graph.append("CUSTOM", [graph.input("x", (2, 3), DType.FP32)], attrs)
    graph.outputs = list(op.outputs)
    return graph, op


CUSTOM = [
    ("acme", (), False),
    ("acme", ("--custom-op-domain-to-opcode", "acme:5"), True),
    ("acme", ("--custom-op-domain-to-opcode=acme:5",), True),
    ("acme", ("--custom-op-domain-to-opcode", "other:5"), False),
    ("acme", ("--enable-bespoke",), False),
    ("com.arm.bespoke", ("--enable-bespoke",), True),
    ("com.arm.bespoke", (), False),
]


@pytest.mark.parametrize(("domain", "flags", "taken"), CUSTOM)
@pytest.mark.usefixtures("kept_here")
def test_custom_operators_need_an_opcode(domain: str, flags: tuple[str, ...], taken: bool) -> None:
    graph, op = _custom(domain)
    why = refusal(op, flags)
    assert (why is None) == taken
    tosa = serialize(graph, EVERYTHING)
    if taken:
        model_converter.convert(tosa, flags)
    else:
        assert why is not None and "compiler_flags" in why.fix
        with pytest.raises(ToolError):
            model_converter.convert(tosa, flags)


def test_the_target_checks_with_its_own_flags() -> None:
    _, op = _custom("acme")
    for flags, taken in (("", False), ("--custom-op-domain-to-opcode acme:5", True)):
        checks = VgfCompileSpec(compiler_flags=flags).target().checks
        assert all(ask(op) is None for ask in checks) == taken
