"""The operators of TOSA as data; ``table_checks.py`` has the two questions that are asked of it.

Data types are the "Supported Data Types" tables of TOSA 1.0, chapter 2. A row is a signature: the types of the operands
in order, then the accumulator's if the operator has ``acc_type``, then those of the results. Operands whose type
never varies (shapes, MUL's shift, RESCALE's multiplier and shift) are left out. Rows stand under their requirement of
a specification: ``"INT"``, ``"FP"``, an extension; ``"INT|FP"`` is either, ``"bf16&fp8e4m3"`` both. Rows that began in
TOSA 1.1, a draft, have ``"1.1"`` there or an extension of it; the conformance generator of tosa-tools 2026.8 makes
those rows, and its tosa-opt admits them.

Attributes have the names of the flatbuffer schema, and are Python values: int, bool, tuples of int, DType, and for
enumerations their names ("PROPAGATE", "BILINEAR", "SINGLE_ROUND"). Three are not in the flatbuffer, which holds them as
the result's tensor: ``output_dtype`` of CAST, RESCALE and MATMUL, and ``results`` of CUSTOM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ..support.errors import UsageError
from . import level_limits as limits
from . import shape_arithmetic as arithmetic
from . import shape_rules as shapes
from . import tensor_operators as tensors
from .ir import DType, Op
from .shape_checks import ShapeRule
from .table_rows import (
    AVG_POOL,
    BITWISE_2,
    CODES,
    COMPARE,
    CONV,
    FLOAT_1,
    FLOAT_2,
    FP8,
    GATHER,
    LOGICAL_2,
    MOVE,
    MX,
    MXFP,
    POOL,
    ROW_GATHER,
    SHIFT_2,
    Rows,
    also,
    merge,
    same,
)

#: How an operand may be given: any tensor, a SHAPE constant, or a tensor that must be a compile-time constant.
TENSOR, SHAPE, CONST = "tensor", "shape", "const"

#: Enumerations of the schema.
ENUMS: dict[str, dict[str, int]] = {
    "nan_mode": {"PROPAGATE": 1, "IGNORE": 2},
    "mode": {"NEAREST_NEIGHBOR": 1, "BILINEAR": 2},
    "block_size": {"BLOCK_SIZE_32": 32},
    "rounding_mode": {"SINGLE_ROUND": 1, "INEXACT_ROUND": 2, "DOUBLE_ROUND": 3},
}

#: In place of the default of an attribute that must be given.
REQUIRED = object()


@dataclass(frozen=True)
class Operand:
    """An operand: its name in TOSA, how it may be given, and whether its type is part of a signature."""

    name: str
    kind: str = TENSOR
    typed: bool = True


@dataclass(frozen=True)
class Attribute:
    """An attribute.

    Args:
        name: as in the schema.
        type: ``int``, ``bool``, ``ints``, ``dtype``, ``enum``, ``text``, ``bytes``, ``value`` (a number of the
            operand's type), ``graph`` (an ``ir.Graph``) or ``results`` (pairs of shape and type).
        default: a value, or a function of the operands; absent means that the attribute must be given.
        length: of ``ints``.
        stored: False for the pseudo-attributes, which the flatbuffer keeps as the result's type.
    """

    name: str
    type: str
    default: Any = REQUIRED
    length: int = 0
    stored: bool = True


@dataclass(frozen=True)
class Operator:
    """One line of the table; ``variadic`` operators take any number of their only operand."""

    name: str
    operands: tuple[Operand, ...]
    attributes: tuple[Attribute, ...]
    signatures: Mapping[tuple[DType, ...], tuple[frozenset[str], ...]]
    shape: ShapeRule
    limits: Callable[[Op], None] | None = None
    variadic: bool = False
    attribute_names: frozenset[str] = field(default=frozenset())
    typed: tuple[int, ...] = ()  # positions of the operands in a signature
    constants: tuple[int, ...] = ()  # positions of the operands that must be constants
    has_accumulator: bool = False
    extension: str = ""  # that an operator needs which takes any types


def _ints(name: str, length: int = 0, default: Any = REQUIRED) -> Attribute:
    return Attribute(name, "ints", default, length)


_AXIS = Attribute("axis", "int")
_NAN = Attribute("nan_mode", "enum", "PROPAGATE")
_LOCAL_BOUND = Attribute("local_bound", "bool", False)
_BLOCK = Attribute("block_size", "enum", "BLOCK_SIZE_32")
_ACC = Attribute("acc_type", "dtype", tensors.accumulator)
_CONV_OPERANDS = "input weight bias input_zp:const weight_zp:const"


def _conv_attributes(spatial: int) -> list[Attribute]:
    return [
        _ints("pad", 2 * spatial, (0,) * (2 * spatial)),
        _ints("stride", spatial, (1,) * spatial),
        _ints("dilation", spatial, (1,) * spatial),
        _LOCAL_BOUND,
        _ACC,
    ]


_POOL_ACC = Attribute("acc_type", "dtype", tensors.pool_accumulator)
_POOL_ATTRIBUTES = [_ints("kernel", 2), _ints("stride", 2, (1, 1)), _ints("pad", 4, (0, 0, 0, 0))]


def _operands(text: str) -> tuple[Operand, ...]:
    """``name``, ``name:kind`` or ``name:kind:untyped``, separated by spaces; shapes are never typed."""
    operands = []
    for word in text.split():
        name, kind, untyped = (*word.split(":"), "", "")[:3]
        operands.append(Operand(name, kind or TENSOR, kind != SHAPE and not untyped))
    return tuple(operands)


def _operator(
    name: str,
    operands: str,
    rows: Rows,
    shape: ShapeRule,
    attributes: Sequence[Attribute] = (),
    limit: Callable[[Op], None] | None = None,
    variadic: bool = False,
    extension: str = "",
) -> Operator:
    signatures: dict[tuple[DType, ...], tuple[frozenset[str], ...]] = {}
    for requirement, texts in rows.items():
        alternatives = tuple(frozenset(part.split("&")) for part in requirement.split("|"))
        for text in texts:
            signature = tuple(CODES[code] for code in text.split())
            signatures[signature] = signatures.get(signature, ()) + alternatives
    parsed = _operands(operands)
    return Operator(
        name,
        parsed,
        tuple(attributes),
        signatures,
        shape,
        limit,
        variadic,
        frozenset(a.name for a in attributes),
        tuple(i for i, operand in enumerate(parsed) if operand.typed),
        tuple(i for i, operand in enumerate(parsed) if operand.kind != TENSOR),
        any(a.name == "acc_type" for a in attributes),
        extension,
    )


def _elementwise(names: str, operands: str, rows: Rows, shape: ShapeRule, *attributes: Attribute) -> list[Operator]:
    return [_operator(name, operands, rows, shape, attributes) for name in names.split()]


_ALL = [
    # 2.2 Tensor operators
    _operator(
        "ARGMAX",
        "input",
        {"INT": ["i8 i32"], "int16": ["i16 i32"], "FP": ["f16 i32", "f32 i32"], "bf16": ["bf i32"]}
        | {"fp8e4m3": ["e4 i32"], "fp8e5m2": ["e5 i32"]},
        tensors.argmax,
        [_AXIS, _NAN],
    ),
    _operator(
        "AVG_POOL2D",
        "input input_zp:const output_zp:const",
        AVG_POOL,
        tensors.avg_pool2d,
        [*_POOL_ATTRIBUTES, _POOL_ACC],
        limits.pool,
    ),
    _operator(
        "AVG_POOL2D_ADAPTIVE",
        "input input_zp:const output_zp:const kernel:shape stride:shape pad:shape",
        also("1.1", AVG_POOL),
        tensors.avg_pool2d_adaptive,
        [_POOL_ACC],
        limits.adaptive_pool,
    ),
    _operator("CONV2D", _CONV_OPERANDS, CONV, tensors.conv2d, _conv_attributes(2), limits.convolution(1, 3)),
    _operator("CONV3D", _CONV_OPERANDS, CONV, tensors.conv3d, _conv_attributes(3), limits.convolution(1, 4)),
    _operator(
        "DEPTHWISE_CONV2D",
        _CONV_OPERANDS,
        CONV,
        tensors.depthwise_conv2d,
        _conv_attributes(2),
        limits.convolution(0, 2),
    ),
    _operator(
        "TRANSPOSE_CONV2D",
        _CONV_OPERANDS,
        CONV,
        tensors.transpose_conv2d,
        [_ints("out_pad", 4, (0, 0, 0, 0)), _ints("stride", 2, (1, 1)), _LOCAL_BOUND, _ACC],
        limits.convolution(1, 3),
    ),
    _operator(
        "FFT2D",
        "input_real input_imag",
        {"fft": ["f32 f32 f32 f32"]},
        tensors.fft2d,
        [Attribute("inverse", "bool", False), _LOCAL_BOUND],
        limits.fft,
    ),
    _operator("RFFT2D", "input_real", {"fft": ["f32 f32 f32"]}, tensors.rfft2d, [_LOCAL_BOUND], limits.fft),
    _operator(
        "MATMUL",
        "A B A_zp:const B_zp:const",
        {
            "INT": ["i8 i8 i8 i8 i32"],
            "int16": ["i16 i16 i16 i16 i48"],
            "FP": ["f16 f16 f16 f16 f16", "f16 f16 f16 f16 f32", "f32 f32 f32 f32 f32"],
            "bf16": ["bf bf bf bf f32"],
            "fp8e4m3": ["e4 e4 e4 e4 f16"],
            "fp8e5m2": ["e5 e5 e5 e5 f16"],
        },
        tensors.matmul,
        [Attribute("output_dtype", "dtype", tensors.matmul_dtype, stored=False)],
    ),
    _operator(
        "MATMUL_T",
        "A B A_zp:const B_zp:const",
        {"INT&1.1": ["i8 i8 i8 i8 i32"], "int16&1.1": ["i16 i16 i16 i16 i48"]},
        tensors.matmul_t,
        [Attribute("output_dtype", "dtype", tensors.matmul_dtype, stored=False)],
    ),
    _operator(
        "MATMUL_T_BLOCK_SCALED",
        "A_data A_scale B_data B_scale",
        {"mxfp": [f"{t} s8 {t} s8 f32" for t in MX]},
        tensors.matmul_t_block_scaled,
        [_BLOCK],
    ),
    _operator(
        "CONV2D_BLOCK_SCALED",
        "input_data input_scale weight_data weight_scale bias pad:shape stride:shape dilation:shape",
        {"mxfp_conv": [f"{t} s8 {t} s8 f32 f32" for t in MXFP]},
        tensors.conv2d_block_scaled,
        [_BLOCK],
        limits.block_scaled_convolution,
    ),
    _operator("MAX_POOL2D", "input", POOL, tensors.max_pool2d, [*_POOL_ATTRIBUTES, _NAN], limits.pool),
    _operator(
        "MAX_POOL2D_ADAPTIVE",
        "input kernel:shape stride:shape pad:shape",
        also("1.1", POOL),
        tensors.max_pool2d_adaptive,
        [_NAN],
        limits.adaptive_pool,
    ),
    # 2.3 Activation functions
    _operator(
        "CLAMP",
        "input",
        same(2, INT="i8", int16="i16", FP="f16 f32", bf16="bf"),
        shapes.clamp,
        [Attribute("min_val", "value"), Attribute("max_val", "value"), _NAN],
    ),
    # 2.3 and 2.5: elementwise, one operand
    *_elementwise("ERF SIGMOID TANH CEIL COS EXP FLOOR LOG RECIPROCAL RSQRT SIN", "input", FLOAT_1, shapes.same),
    *_elementwise("ABS", "input", merge(FLOAT_1, same(2, INT="i32", int64="i64")), shapes.same),
    *_elementwise("BITWISE_NOT", "input", same(2, INT="i8 i16 i32", int64="i64"), shapes.same),
    *_elementwise("CLZ", "input", same(2, INT="i32", int64="i64"), shapes.same),
    *_elementwise("LOGICAL_NOT", "input", same(2, EITHER="b"), shapes.same),
    *_elementwise(
        "NEGATE",
        "input input1_zp:const output_zp:const",
        same(4, INT="i8 i16 i32", int64="i64", FP="f16 f32", bf16="bf"),
        shapes.negate,
    ),
    # 2.4: elementwise, two operands
    *_elementwise("ADD SUB", "input1 input2", merge(FLOAT_2, same(3, EITHER="i32", int64="i64")), shapes.binary),
    *_elementwise(
        "MAXIMUM MINIMUM", "input1 input2", merge(FLOAT_2, same(3, INT="i32", int64="i64")), shapes.binary, _NAN
    ),
    *_elementwise("POW", "input1 input2", FLOAT_2, shapes.binary),
    *_elementwise("INTDIV", "input1 input2", same(3, EITHER="i32", int64="i64"), shapes.binary),
    *_elementwise("BITWISE_AND BITWISE_OR BITWISE_XOR", "input1 input2", BITWISE_2, shapes.binary),
    *_elementwise("LOGICAL_AND LOGICAL_OR LOGICAL_XOR", "input1 input2", LOGICAL_2, shapes.binary),
    *_elementwise("LOGICAL_LEFT_SHIFT LOGICAL_RIGHT_SHIFT", "input1 input2", SHIFT_2, shapes.binary),
    *_elementwise(
        "ARITHMETIC_RIGHT_SHIFT", "input1 input2", BITWISE_2, shapes.binary, Attribute("round", "bool", False)
    ),
    *_elementwise(
        "MUL",
        "input1 input2 shift:const:untyped",
        merge(FLOAT_2, {"INT": ["i8 i8 i32", "i16 i16 i32"], "INT|FP": ["i32 i32 i32"], "int64": ["i64 i64 i64"]}),
        shapes.mul,
    ),
    _operator("TABLE", "input table:const", {"INT": ["i8 i8 i8"], "int16": ["i16 i16 i32"]}, shapes.table),
    # 2.6 and 2.7: selection and comparison
    _operator(
        "SELECT",
        "input1 input2 input3",
        {"INT|FP": ["b b b b"], "INT": ["b i8 i8 i8", "b i16 i16 i16", "b i32 i32 i32"]}
        | {"int64": ["b i64 i64 i64"]}
        | {"FP": ["b f16 f16 f16", "b f32 f32 f32"], "bf16": ["b bf bf bf"]},
        shapes.select,
    ),
    *_elementwise("EQUAL GREATER GREATER_EQUAL", "input1 input2", COMPARE, shapes.compare),
    # 2.8 Reductions
    *_elementwise("REDUCE_ALL REDUCE_ANY", "input", same(2, EITHER="b"), shapes.reduce, _AXIS),
    *_elementwise(
        "REDUCE_MAX REDUCE_MIN",
        "input",
        merge(FLOAT_1, same(2, INT="i8 i16 i32", int64="i64")),
        shapes.reduce,
        _AXIS,
        _NAN,
    ),
    *_elementwise("REDUCE_PRODUCT", "input", FLOAT_1, shapes.reduce, _AXIS),
    *_elementwise("REDUCE_SUM", "input", merge(FLOAT_1, same(2, INT="i32", int64="i64")), shapes.reduce, _AXIS),
    # 2.9 Data layout
    _operator(
        "CONCAT",
        "input1",
        same(2, EITHER="b", INT="i8 i32", int16="i16", int64="i64", FP="f16 f32", bf16="bf", **FP8),
        shapes.concat,
        [_AXIS],
        limits.concat,
        variadic=True,
    ),
    _operator(
        "PAD",
        "input padding:shape pad_const:const",
        same(3, EITHER="b", INT="i8 i16 i32", int64="i64", FP="f16 f32", bf16="bf", **FP8),
        shapes.pad,
    ),
    _operator("RESHAPE", "input shape:shape", MOVE, shapes.reshape),
    _operator(
        "RESHAPE_BLOCK_SCALED",
        "input_data input_scale shape:shape",
        {"mxfp": [f"{t} s8 {t} s8" for t in MX]},
        shapes.reshape_block_scaled,
        [_BLOCK],
    ),
    _operator("REVERSE", "input", MOVE, shapes.reverse, [_AXIS]),
    _operator("SLICE", "input start:shape size:shape", MOVE, shapes.slice_),
    _operator("TILE", "input multiples:shape", MOVE, shapes.tile),
    _operator("TRANSPOSE", "input", MOVE, shapes.transpose, [_ints("perms")]),
    # 2.10 Scatter and gather
    _operator("GATHER", "values indices", GATHER, shapes.gather),
    _operator("ROW_GATHER", "values indices row_count:const:untyped", ROW_GATHER, shapes.row_gather),
    _operator(
        "ROW_GATHER_BLOCK_SCALED",
        "values_data values_scale indices row_count:const:untyped",
        {"mxfp": [f"{t} s8 i32 {t} s8" for t in MX], "int64&mxfp": [f"{t} s8 i64 {t} s8" for t in MX]},
        shapes.row_gather_block_scaled,
        [_BLOCK],
    ),
    _operator(
        "SCATTER",
        "values_in indices input",
        {
            "INT": ["i8 i32 i8 i8", "i16 i32 i16 i16", "i32 i32 i32 i32"],
            "FP": ["f16 i32 f16 f16", "f32 i32 f32 f32"],
            "bf16": ["bf i32 bf bf"],
            "fp8e4m3": ["e4 i32 e4 e4"],
            "fp8e5m2": ["e5 i32 e5 e5"],
            "INT&1.1": ["b i32 b b"],
            "int64": ["i64 i64 i64 i64"],
            "INT&int64": [f"{t} i64 {t} {t}" for t in ("b", "i8", "i16", "i32")],
            "FP&int64": ["f16 i64 f16 f16", "f32 i64 f32 f32"],
        },
        shapes.scatter,
    ),
    # 2.11 Image
    _operator(
        "RESIZE",
        "input scale:shape offset:shape border:shape",
        {"INT": ["i8 i32", "i8 i8"], "int16": ["i16 i48", "i16 i16"], "FP": ["f16 f16", "f32 f32"], "bf16": ["bf bf"]},
        shapes.resize,
        [Attribute("mode", "enum")],
        limits.resize,
    ),
    # 2.12 Type conversion
    _operator(
        "CAST",
        "input",
        {
            "INT": [f"{a} {b}" for a in ("b", "i8", "i16", "i32") for b in ("b", "i8", "i16", "i32") if a != b],
            "FP": [f"{a} {b}" for f in ("f16", "f32") for i in ("i8", "i16", "i32") for a, b in ((f, i), (i, f))]
            + ["f16 f32", "f32 f16"],
            "bf16": [f"{a} {b}" for i in ("i8", "i16", "i32", "f32") for a, b in (("bf", i), (i, "bf"))],
            "bf16&fp8e4m3": ["bf e4", "e4 bf"],
            "bf16&fp8e5m2": ["bf e5", "e5 bf"],
            "fp8e4m3": ["e4 f16", "e4 f32", "f16 e4", "f32 e4"],
            "fp8e5m2": ["e5 f16", "e5 f32", "f16 e5", "f32 e5"],
            "FP&1.1": ["b f32", "f32 b"],
            "INT&int64": ["b i64", "i64 b", "i32 i64", "i64 i32"],
        },
        shapes.cast,
        [Attribute("output_dtype", "dtype", stored=False)],
    ),
    _operator(
        "CAST_TO_BLOCK_SCALED",
        "input",
        {"mxfp": [f"f32 {t} s8" for t in MX], "bf16&mxfp": [f"bf {t} s8" for t in MX]},
        tensors.cast_to_block_scaled,
        [Attribute("output_dtype", "dtype", stored=False), _BLOCK],
    ),
    _operator(
        "CAST_FROM_BLOCK_SCALED",
        "input_data input_scale",
        {"mxfp": [f"{t} s8 f32" for t in MX], "bf16&mxfp": [f"{t} s8 bf" for t in MX]},
        tensors.cast_from_block_scaled,
        [Attribute("output_dtype", "dtype", stored=False), _BLOCK],
    ),
    _operator(
        "RESCALE",
        "input multiplier:const:untyped shift:const:untyped input_zp:const output_zp:const",
        {
            "INT": [f"{a} {a} {b} {b}" for a in ("i8", "i16", "i32") for b in ("i8", "i16", "i32")]
            + [row for b in ("i8", "i16") for row in (f"u8 u8 {b} {b}", f"{b} {b} u8 u8")],
            "int16": [f"i48 i48 {b} {b}" for b in ("i8", "i16", "i32")],
        },
        shapes.rescale,
        [
            Attribute("scale32", "bool", True),
            Attribute("rounding_mode", "enum", "SINGLE_ROUND"),
            Attribute("per_channel", "bool", False),
            Attribute("input_unsigned", "bool", False),
            Attribute("output_unsigned", "bool", False),
            Attribute("output_dtype", "dtype", stored=False),
        ],
    ),
    # 2.13 Data nodes
    _operator(
        "IDENTITY",
        "input1",
        same(2, EITHER="b i8 i16 i32", FP="f16 f32", int4="i4", int16="i48", int64="i64", bf16="bf", **FP8),
        shapes.same,
    ),
    # Shapes, in the draft of 1.1
    _operator(
        "DIM",
        "input",
        also("shape", {key: [f"{row.split()[0]} sh" for row in rows] for key, rows in MOVE.items()}),
        arithmetic.dim,
        [_AXIS],
    ),
    _operator("CONCAT_SHAPE", "input:shape", {"shape": ["sh"]}, arithmetic.concat_shape, variadic=True),
    _operator(
        "SLICE_SHAPE", "input:shape start:const:untyped size:const:untyped", {"shape": ["sh"]}, arithmetic.slice_shape
    ),
    _operator(
        "ASSERT_EQUAL_SHAPE",
        "input1:shape input2:shape",
        {"shape": [""]},
        arithmetic.assert_equal_shape,
        [Attribute("allow_broadcast", "bool", False)],
    ),
    *(
        _operator(
            name,
            "input:shape" if name.startswith(("EXP2", "LOG2")) else "input1:shape input2:shape",
            {"shape": ["sh"]},
            arithmetic.elementwise,
        )
        for name in arithmetic.ELEMENTWISE
    ),
    # 2.14 Custom
    _operator(
        "CUSTOM",
        "input_list",
        {},
        shapes.custom,
        [
            Attribute("operator_name", "text"),
            Attribute("domain_name", "text"),
            Attribute("implementation_attrs", "bytes", b""),
            Attribute("results", "results", stored=False),
        ],
        variadic=True,
    ),
    # 2.15 Control flow
    _operator(
        "WHILE_LOOP",
        "input_list",
        {},
        shapes.while_loop,
        [Attribute("cond_graph", "graph"), Attribute("body_graph", "graph")],
        variadic=True,
        extension="cf",
    ),
]

#: The operators by name.
OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _ALL}


def require_operators(names: Iterable[str], of: str) -> None:
    """Refuses names that are of no operator: what looks for them would find nothing, without a word.

    Args:
        of: what has the names, for the error.

    Raises:
        UsageError: names the first one.
    """
    for name in names:
        if name not in OPERATORS:
            near = get_close_matches(name.upper(), OPERATORS, n=1)
            raise UsageError(f"{of}: TOSA has no operator {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
