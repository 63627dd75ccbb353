"""Each rewrite: what it makes of a small graph, and that the results stay the same bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arm_tosa_core import TosaSpecification
from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.support.errors import LoweringError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.verifier import verify

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP+INT")


def _builder() -> tuple[Builder, Tensor]:
    graph = Graph()
    return Builder(graph, SPEC), graph.input("x", (1, 4, 6, 8), DType.INT8)


def _table(b: Builder, x: Tensor, step: int) -> Tensor:
    entries = (np.arange(256) * step % 256 - 128).astype(np.int8)
    return b.emit("TABLE", [x, b.graph.constant(entries, DType.INT8)])


def _wide(b: Builder, x: Tensor) -> Tensor:
    return b.rescale(x, [3.0], DType.INT32, 5)


def rescale_after_reshape(b: Builder, x: Tensor) -> Tensor:
    return b.rescale(b.reshape(_wide(b, x), (1, 24, 8)), [0.1 + 0.01 * i for i in range(8)], DType.INT8, 0, 3)


def rescale_after_a_reshape_of_channels(b: Builder, x: Tensor) -> Tensor:
    return b.rescale(b.reshape(_wide(b, x), (1, 48, 4)), [0.1 + 0.01 * i for i in range(4)], DType.INT8)


def rescale_after_transpose(b: Builder, x: Tensor) -> Tensor:
    return b.rescale(b.emit("TRANSPOSE", [_wide(b, x)], perms=(0, 2, 1, 3)), [0.2], DType.INT8)


def rescale_after_concat(b: Builder, x: Tensor) -> Tensor:
    joined = b.emit("CONCAT", [_wide(b, x), b.rescale(x, [2.0], DType.INT32)], axis=3)
    return b.rescale(joined, [0.1 if i < 8 else 0.1 + 0.01 * i for i in range(16)], DType.INT8)


def rescale_after_a_reshape_that_is_used_twice(b: Builder, x: Tensor) -> Tensor:
    wide = b.reshape(_wide(b, x), (1, 24, 8))
    return b.emit("ADD", [b.rescale(b.rescale(wide, [0.1], DType.INT8), [1.0], DType.INT32), wide])


def table_of_table(b: Builder, x: Tensor) -> Tensor:
    return _table(b, _table(b, x, 3), 7)


def table_of_rescale(b: Builder, x: Tensor) -> Tensor:
    return _table(b, b.rescale(x, [1.7], DType.INT8, -3, 9), 5)


def clamp_of_rescale_of_table(b: Builder, x: Tensor) -> Tensor:
    return b.emit("CLAMP", [b.rescale(_table(b, x, 5), [0.3], DType.INT8, 4, 1)], min_val=-20, max_val=30)


def rescale_of_rescale(b: Builder, x: Tensor) -> Tensor:
    return b.rescale(b.rescale(x, [0.5], DType.INT8), [1.5], DType.INT8)


def equal_reshapes(b: Builder, x: Tensor) -> Tensor:
    made = _table(b, x, 3)
    views = [
        b.rescale(b.graph.append("RESHAPE", [made, b.graph.shape((24, 8))]).output, [by], DType.INT32) for by in (1, 2)
    ]
    return b.emit("ADD", views)


def equal_transposes(b: Builder, x: Tensor) -> Tensor:
    made = _table(b, x, 3)
    views = [b.rescale(b.emit("TRANSPOSE", [made], perms=(0, 2, 1, 3)), [by], DType.INT32) for by in (1, 2)]
    return b.emit("ADD", views)


def equal_rescales(b: Builder, x: Tensor) -> Tensor:
    """Vela does each with what reads it."""
    made = _table(b, x, 3)
    return b.emit("ADD", [b.emit(name, [b.rescale(made, [2.5], DType.INT32)]) for name in ("ABS", "CLZ")])


def reshape_of_reshape(b: Builder, x: Tensor) -> Tensor:
    return b.reshape(b.reshape(_table(b, x, 3), (24, 8)), (4, 48))


def rescale_by_one(b: Builder, x: Tensor) -> Tensor:
    return _table(b, b.rescale(x, [1.0], DType.INT8, 3, 3), 3)


def cast_and_rescale_by_one(b: Builder, x: Tensor) -> Tensor:
    return _table(b, b.rescale(b.emit("CAST", [x], output_dtype=DType.INT32), [1.0], DType.INT8), 3)


def rescale_by_one_to_another_zero_point(b: Builder, x: Tensor) -> Tensor:
    return b.emit("ABS", [b.rescale(b.rescale(x, [1.0], DType.INT8, 3, 4), [2.0], DType.INT32)])


def rescale_by_one_that_is_an_output(b: Builder, x: Tensor) -> Tensor:
    copy = b.rescale(x, [1.0], DType.INT8)
    b.graph.outputs.append(b.emit("ABS", [b.rescale(copy, [2.0], DType.INT32)]))
    return copy


def slice_of_slice(b: Builder, x: Tensor) -> Tensor:
    shape = b.graph.shape
    inner = b.emit("SLICE", [x, shape([0, 1, 1, 0]), shape([1, 3, 4, 8])])
    return b.emit("SLICE", [inner, shape([0, 1, 0, 2]), shape([1, 2, 4, 5])])


def _tiled(b: Builder, x: Tensor) -> Tensor:
    """Rows that heads share, [3, 4, 12, 8]."""
    return b.emit("TILE", [x, b.graph.shape((3, 1, 2, 1))])


def transpose_of_tile(b: Builder, x: Tensor) -> Tensor:
    return b.emit("TRANSPOSE", [_tiled(b, x)], perms=(2, 0, 1, 3))


def transpose_of_a_reshape_of_tile(b: Builder, x: Tensor) -> Tensor:
    return b.emit("TRANSPOSE", [b.reshape(_tiled(b, x), (12, 12, 8))], perms=(0, 2, 1))


def transpose_of_a_reshape_of_tile_that_goes_between(b: Builder, x: Tensor) -> Tensor:
    return b.emit("TRANSPOSE", [b.reshape(_tiled(b, x), (12, 24, 4))], perms=(0, 2, 1))


def transpose_of_tile_that_is_used_twice(b: Builder, x: Tensor) -> Tensor:
    tiled = _tiled(b, x)
    return b.emit("CONCAT", [b.emit("TRANSPOSE", [tiled], perms=(2, 0, 1, 3)), b.reshape(tiled, (12, 3, 4, 8))], axis=0)


def _number(b: Builder, number: float) -> Tensor:
    return b.graph.constant(np.full((1, 1, 1, 1), number, np.float32), DType.FP32)


def _real(b: Builder, x: Tensor, scale: Tensor) -> Tensor:
    whole = b.emit("SUB", [b.emit("CAST", [x], output_dtype=DType.FP32), _number(b, -3)])
    return b.emit("MUL", [whole, scale, b.graph.constant(np.zeros(1, np.int8), DType.INT8)])


def transpose_of_dequantized(b: Builder, x: Tensor) -> Tensor:
    return b.emit("TRANSPOSE", [_real(b, _table(b, x, 3), _number(b, 0.25))], perms=(0, 3, 1, 2))


def transpose_of_dequantized_by_channel(b: Builder, x: Tensor) -> Tensor:
    scales = b.graph.constant(np.arange(1, 9, dtype=np.float32).reshape(1, 1, 1, 8), DType.FP32)
    return b.emit("TRANSPOSE", [_real(b, _table(b, x, 3), scales)], perms=(0, 3, 1, 2))


def transpose_of_dequantized_that_is_used_twice(b: Builder, x: Tensor) -> Tensor:
    real = _real(b, _table(b, x, 3), _number(b, 0.25))
    return b.emit("CONCAT", [b.emit("TRANSPOSE", [real], perms=(0, 2, 1, 3)), b.reshape(real, (1, 6, 4, 8))], axis=0)


def transpose_of_cast_to_fewer_bytes(b: Builder, x: Tensor) -> Tensor:
    wide = b.rescale(_table(b, x, 3), [1.0], DType.INT32, 5)
    return b.emit("TRANSPOSE", [b.emit("CAST", [wide], output_dtype=DType.INT8)], perms=(0, 3, 1, 2))


def transpose_of_a_reshape_of_transpose_back(b: Builder, x: Tensor) -> Tensor:
    there = b.emit("TRANSPOSE", [b.reshape(_table(b, x, 3), (2, 96))], perms=(1, 0))
    back = b.emit("TRANSPOSE", [b.reshape(there, (2, 6, 8, 2))], perms=(3, 0, 1, 2))
    return b.emit("ABS", [b.rescale(back, [1.0], DType.INT32)])


def transpose_of_a_reshape_of_transpose_elsewhere(b: Builder, x: Tensor) -> Tensor:
    there = b.emit("TRANSPOSE", [b.reshape(x, (2, 96))], perms=(1, 0))
    return b.emit("TRANSPOSE", [b.reshape(there, (2, 6, 16))], perms=(1, 2, 0))


def transpose_of_transpose(b: Builder, x: Tensor) -> Tensor:
    return b.emit("TRANSPOSE", [b.emit("TRANSPOSE", [x], perms=(0, 2, 3, 1))], perms=(3, 0, 2, 1))


def transposes_that_cancel(b: Builder, x: Tensor) -> Tensor:
    there = b.emit("TRANSPOSE", [_table(b, x, 3)], perms=(0, 2, 3, 1))
    return b.emit("ABS", [b.rescale(b.emit("TRANSPOSE", [there], perms=(0, 3, 1, 2)), [1.0], DType.INT32)])


def transpose_of_one_row(b: Builder, x: Tensor) -> Tensor:
    row = b.emit("RESHAPE", [_table(b, x, 3), b.graph.shape([1, 1, 1, x.size])])
    return b.emit("TRANSPOSE", [row], perms=(3, 0, 1, 2))


def _unsigned(b: Builder, x: Tensor, zero: int) -> Tensor:
    """A RESCALE by 1 to uint8 behind one to int8 with zero point 3."""
    signed, graph = b.rescale(x, [0.5], DType.INT8, 0, 3), b.graph
    numbers = [(np.int32([1 << 30]), DType.INT32), (np.int8([30]), DType.INT8), (np.int8([3]), DType.INT8)]
    inputs = [signed, *(graph.constant(*each) for each in numbers), graph.constant(np.uint8([zero]), DType.UINT8)]
    assert signed.producer is not None
    return graph.append(
        "RESCALE", inputs, signed.producer.attrs | {"output_unsigned": True, "output_dtype": DType.UINT8}
    ).output


def unsigned_after_reshape(b: Builder, x: Tensor) -> Tensor:
    signed = b.rescale(b.reshape(b.rescale(x, [99.0], DType.INT16, 5), (1, 24, 8)), [0.02], DType.INT8)
    assert signed.producer is not None
    *inputs, _ = signed.producer.inputs
    attrs = signed.producer.attrs | {"output_unsigned": True, "output_dtype": DType.UINT8}
    return b.graph.append("RESCALE", [*inputs, b.graph.constant(np.uint8([128]), DType.UINT8)], attrs).output


def another_sign(b: Builder, x: Tensor) -> Tensor:
    return _unsigned(b, x, 131)


def another_sign_and_zero_point(b: Builder, x: Tensor) -> Tensor:
    return _unsigned(b, x, 100)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (rescale_after_reshape, ["RESCALE", "RESCALE", "RESHAPE"]),
        (rescale_after_a_reshape_of_channels, ["RESCALE", "RESHAPE", "RESCALE"]),
        (rescale_after_transpose, ["RESCALE", "RESCALE", "TRANSPOSE"]),
        (rescale_after_concat, ["RESCALE", "RESCALE", "RESCALE", "RESCALE", "CONCAT"]),
        (rescale_after_a_reshape_that_is_used_twice, ["RESCALE", "RESHAPE", "RESCALE", "RESCALE", "ADD"]),
        (table_of_table, ["TABLE"]),
        (table_of_rescale, ["TABLE"]),
        (clamp_of_rescale_of_table, ["TABLE"]),
        (rescale_of_rescale, ["RESCALE", "RESCALE"]),
        (equal_reshapes, ["TABLE", "RESHAPE", "RESCALE", "RESCALE", "ADD"]),
        (equal_transposes, ["TABLE", "TRANSPOSE", "RESCALE", "RESCALE", "ADD"]),
        (equal_rescales, ["TABLE", "RESCALE", "ABS", "RESCALE", "CLZ", "ADD"]),
        (reshape_of_reshape, ["TABLE", "RESHAPE"]),
        (rescale_by_one, ["TABLE"]),
        (cast_and_rescale_by_one, ["TABLE"]),
        (rescale_by_one_to_another_zero_point, ["RESCALE", "RESCALE", "ABS"]),
        (rescale_by_one_that_is_an_output, ["RESCALE", "RESCALE", "ABS"]),
        (slice_of_slice, ["SLICE"]),
        (transpose_of_transpose, ["TRANSPOSE"]),
        (transpose_of_a_reshape_of_transpose_back, ["TABLE", "RESHAPE", "RESCALE", "ABS"]),
        (transpose_of_a_reshape_of_transpose_elsewhere, ["RESHAPE", "TRANSPOSE", "RESHAPE", "TRANSPOSE"]),
        (transpose_of_tile, ["TRANSPOSE", "TILE"]),
        (transpose_of_a_reshape_of_tile, ["TRANSPOSE", "TILE", "RESHAPE"]),
        (transpose_of_a_reshape_of_tile_that_goes_between, ["TILE", "RESHAPE", "TRANSPOSE"]),
        (transpose_of_tile_that_is_used_twice, ["TILE", "TRANSPOSE", "RESHAPE", "CONCAT"]),
        (transpose_of_dequantized, ["TABLE", "TRANSPOSE", "CAST", "SUB", "MUL"]),
        (transpose_of_dequantized_by_channel, ["TABLE", "CAST", "SUB", "MUL", "TRANSPOSE"]),
        (
            transpose_of_dequantized_that_is_used_twice,
            ["TABLE", "CAST", "SUB", "MUL", "TRANSPOSE", "RESHAPE", "CONCAT"],
        ),
        (transpose_of_cast_to_fewer_bytes, ["TABLE", "RESCALE", "CAST", "TRANSPOSE"]),
        (unsigned_after_reshape, ["RESCALE", "RESHAPE", "RESCALE"]),
        (another_sign, ["RESCALE"]),
        (another_sign_and_zero_point, ["RESCALE", "RESCALE"]),
        (transpose_of_one_row, ["TABLE", "RESHAPE"]),
        (transposes_that_cancel, ["TABLE", "RESCALE", "ABS"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_rewrite_keeps_the_results(make: Callable[[Builder, Tensor], Tensor], expected: list[str]) -> None:
    builder, x = _builder()
    graph = builder.graph
    graph.outputs.append(make(builder, x))
    data = np.random.default_rng(0).integers(-128, 128, x.shape).astype(np.int8)
    before = run(serialize(graph, SPEC), [data])
    run_rewrites(graph, list(REWRITES))
    verify(graph, SPEC)
    assert [op.name for op in graph.ops] == expected
    for made, right in zip(run(serialize(graph, SPEC), [data]), before, strict=True):
        np.testing.assert_array_equal(made, right)
    assert len(np.unique(before[0])) > 20


@pytest.mark.parametrize(
    ("make", "operand"),
    [*((table_of_rescale, operand) for operand in range(1, 5)), (another_sign, 3), (another_sign, 4)],
)
def test_a_rescale_of_what_is_computed_stays(make: Callable[[Builder, Tensor], Tensor], operand: int) -> None:
    builder, x = _builder()
    graph = builder.graph
    graph.outputs.append(make(builder, x))
    rescale = next(op for op in reversed(graph.ops) if op.name == "RESCALE")
    number = rescale.inputs[operand]
    graph.set_input(rescale, operand, graph.input("number", number.shape, number.dtype))
    names = [op.name for op in graph.ops]
    run_rewrites(graph, list(REWRITES))
    assert [op.name for op in graph.ops] == names


def test_rewrites_without_end_are_an_error_that_names_them() -> None:
    builder, x = _builder()
    builder.graph.outputs = [builder.rescale(x, [1.0], DType.INT32)]

    def copied(graph: Graph, op: Op) -> bool:
        operands = [op.inputs[0], *op.inputs[1:]]
        graph.replace(op.output, graph.insert_before(op, "RESCALE", operands, op.attrs).output)
        return True

    with pytest.raises(LoweringError, match=r"after 1000 applications: copied \(they undo or feed one another"):
        run_rewrites(builder.graph, [Rewrite("copied", Stage.OPTIMIZE, ("RESCALE",), copied)])
