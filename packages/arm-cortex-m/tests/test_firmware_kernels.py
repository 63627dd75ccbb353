"""TOSA operators as C: the reference model's results, bit for bit, under the sanitizers of addresses and behaviour."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from c_compiler import WARNINGS

from arm_cortex_m.firmware.c_text import FOLDER, c_type, number
from arm_cortex_m.firmware.kernels import KERNELS, why_not
from arm_cortex_m.firmware.kernels.kernel import Functions, constant
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require

B, I8, I16, I32, I48 = DType.BOOL, DType.INT8, DType.INT16, DType.INT32, DType.INT48
SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16+doubleround")


class In(NamedTuple):
    """An operand that varies: random numbers of its bounds, and the bounds themselves."""

    shape: tuple[int, ...]
    dtype: DType
    least: int = -(2**31)
    most: int = 2**31 - 1


class Const(NamedTuple):
    """A constant operand."""

    data: Any
    dtype: DType


def numbers(*values: int) -> Const:
    """A SHAPE constant."""
    return Const(values, DType.SHAPE)


def zero(dtype: DType, value: int = 0) -> Const:
    return Const([value], dtype)


RNG = np.random.default_rng(0)
SMALL = (-(2**30), 2**30 - 1)
A, C = In((2, 3, 4), I32, *SMALL), In((2, 1, 4), I32, *SMALL)
TABLE16 = Const(RNG.integers(-(2**13), 2**13, 513), I16)


def scaled(
    source: In, to: DType, multiplier: Any, shift: Any, zero_points: tuple[int, int] = (0, 0), **attrs: Any
) -> tuple[str, Sequence[In | Const], Mapping[str, Any]]:
    """A RESCALE."""
    scale32 = source.dtype is not I48
    defaults = {"output_dtype": to, "scale32": scale32, "per_channel": np.size(multiplier) > 1}
    factors = Const(np.atleast_1d(multiplier), I32 if scale32 else I16), Const(np.atleast_1d(shift), I8)
    points = zero(source.dtype, zero_points[0]), zero(to, zero_points[1])
    return "RESCALE", [source, *factors, *points], {**defaults, **attrs}


def resized(
    mode: str, scale: tuple[int, int, int, int], offset: tuple[int, int]
) -> tuple[str, Sequence[In | Const], Mapping[str, Any]]:
    """A RESIZE, with the borders that make its result's sizes whole."""
    shape = (2, 5, 7, 3)
    border = [
        -((size - 1) * up - at) % down - (down if up <= -((size - 1) * up - at) % down else 0)
        for size, up, down, at in zip(shape[1:3], scale[::2], scale[1::2], offset, strict=True)
    ]
    return "RESIZE", [In(shape, I8), numbers(*scale), numbers(*offset), numbers(*border)], {"mode": mode}


CONV: Mapping[str, Any] = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": I32}


def convolved(
    name: str,
    shape: tuple[int, ...],
    weights: tuple[int, ...],
    attrs: Mapping[str, Any],
    dtype: DType = I8,
    *,
    bias: int = 0,
    zero_points: tuple[int, int] = (-7, 5),
) -> tuple[str, Sequence[In | Const], Mapping[str, Any]]:
    """A convolution with random weights and biases, ``bias`` many, or one for each result."""
    kinds = (I32, I32) if dtype is I8 else (I48, I48)
    count = bias or (weights[2] * weights[3] if name == "DEPTHWISE_CONV2D" else weights[0])
    values = Const(RNG.integers(-128, 128, weights), I8)
    points = zero_points if dtype is I8 else (0, 0)
    defaults = {**CONV, "acc_type": kinds[0]}
    if name == "TRANSPOSE_CONV2D":
        defaults = {"out_pad": (0, 0, 0, 0), "stride": (1, 1), "acc_type": kinds[0]}
    operands = [In(shape, dtype), values, Const(RNG.integers(-(2**15), 2**15, count), kinds[1])]
    return name, [*operands, zero(dtype, points[0]), zero(I8, points[1])], {**defaults, **attrs}


def pooled(
    name: str, dtype: DType, shape: tuple[int, ...], attrs: Mapping[str, Any]
) -> tuple[str, Sequence[In | Const], Mapping[str, Any]]:
    """A pool."""
    defaults: Mapping[str, Any] = {"pad": (0, 0, 0, 0), "nan_mode": "PROPAGATE"}
    if name == "MAX_POOL2D":
        return name, [In(shape, dtype)], {**defaults, **attrs}
    points = (3, -11) if dtype is I8 else (0, 0)
    defaults = {"pad": (0, 0, 0, 0), "acc_type": I32}
    return name, [In(shape, dtype), *(zero(dtype, point) for point in points)], {**defaults, **attrs}


ROWS: Mapping[str, tuple[str, Sequence[In | Const], Mapping[str, Any]]] = {
    **{name: (name, [A, C], {}) for name in ("ADD", "SUB", "MAXIMUM", "MINIMUM", "EQUAL", "GREATER", "GREATER_EQUAL")},
    "EQUAL, few values": ("EQUAL", [In((5, 7), I32, 0, 2), In((5, 7), I32, 0, 2)], {}),
    "ADD of a number": ("ADD", [A, Const([[[-7]]], I32)], {}),
    **{f"{name} {bits}": (name, [In((6, 5), bits, 0, 9), In((1, 5), bits, -9, 99)], {})
       for name in ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR") for bits in (I8, I16, I32)},
    **{f"BITWISE_NOT {bits}": ("BITWISE_NOT", [In((6, 5), bits, -99, 99)], {}) for bits in (I8, I16, I32)},
    **{name: (name, [In((4, 5), B, 0, 1), In((4, 1), B, 0, 1)], {})
       for name in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR")},
    "LOGICAL_NOT": ("LOGICAL_NOT", [In((9,), B, 0, 1)], {}),
    **{f"{name} {bits}": (name, [In((8, 9), bits, -120, 120), In((8, 9), bits, 0, bits.bits - 1)], {})
       for name in ("LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT") for bits in (I8, I16, I32)},
    **{f"ARITHMETIC_RIGHT_SHIFT {bits} {rounds}":
       ("ARITHMETIC_RIGHT_SHIFT", [In((8, 9), bits), In((8, 9), bits, 0, bits.bits - 1)], {"round": rounds})
       for bits in (I8, I16, I32) for rounds in (False, True)},
    "ABS": ("ABS", [In((50,), I32, -(2**31) + 1)], {}),
    "CLZ": ("CLZ", [In((50,), I32)], {}),
    "INTDIV": ("INTDIV", [In((50,), I32, -(2**31) + 1), In((50,), I32, 1, 999)], {}),
    "INTDIV by negative": ("INTDIV", [In((50,), I32, -(2**31) + 1), In((50,), I32, -99, -1)], {}),
    "MUL INT8": ("MUL", [In((6, 5), I8), In((6, 1), I8), zero(I8)], {}),
    "MUL INT16": ("MUL", [In((6, 5), I16), In((6, 1), I16), zero(I8)], {}),
    "MUL INT32": ("MUL", [In((6, 5), I32, -9999, 9999), In((6, 1), I32, -9999, 9999), zero(I8)], {}),
    "MUL INT32, shifted": ("MUL", [In((6, 5), I32), In((6, 1), I32, -9999, 9999), zero(I8, 20)], {}),
    "CLAMP INT8": ("CLAMP", [In((40,), I8)], {"min_val": -20, "max_val": 33}),
    "CLAMP INT16": ("CLAMP", [In((40,), I16)], {"min_val": -2000, "max_val": 0}),
    "NEGATE INT8": ("NEGATE", [In((99,), I8), zero(I8, 5), zero(I8, -7)], {}),
    "NEGATE INT16": ("NEGATE", [In((99,), I16), zero(I16), zero(I16)], {}),
    "NEGATE INT32": ("NEGATE", [In((99,), I32, -(2**31) + 1), zero(I32), zero(I32)], {}),
    "TABLE INT8": ("TABLE", [In((300,), I8), Const(RNG.integers(-128, 128, 256), I8)], {}),
    "TABLE INT16": ("TABLE", [In((300,), I16), TABLE16], {}),
    **{f"SELECT {bits}": ("SELECT", [In((4, 5), B, 0, 1), In((4, 5), bits), In((1, 5), bits)], {})
       for bits in (B, I8, I16, I32)},
    "SELECT of a number": ("SELECT", [In((4, 5), B, 0, 1), In((4, 5), I8), Const([[-128]], I8)], {}),
    **{f"CAST {a} to {b}": ("CAST", [In((60,), a)], {"output_dtype": b})
       for a in (B, I8, I16, I32) for b in (I8, I16, I32) if a is not b},
    **{f"CAST {a} to BOOL": ("CAST", [In((60,), a, -1, 1)], {"output_dtype": B}) for a in (I8, I16, I32)},
    "RESCALE INT32 to INT8": scaled(In((2, 3, 8), I32), I8, 1234567890, 50, (0, 3)),
    "RESCALE INT8 to INT32": scaled(In((2, 3, 8), I8), I32, 1234567890, 12, (-5, 0)),
    "RESCALE INT32 to INT16": scaled(In((90,), I32), I16, 2147483647, 45),
    "RESCALE INT16 to INT16": scaled(In((90,), I16), I16, 1073741824, 31),
    "RESCALE of channels": scaled(In((2, 3, 4), I32), I8, [2**30, 1500000000, 1999999999, 2**30 + 1], [50, 51, 52, 53]),
    "RESCALE rounded twice": scaled(In((90,), I32), I16, 1600000001, 47, rounding_mode="DOUBLE_ROUND"),
    "RESCALE of unsigned": scaled(In((90,), I8), I8, 1 << 30, 30, (-128, 7), input_unsigned=True),
    "RESCALE to unsigned": scaled(In((90,), I8), I8, 1300000000, 31, (7, -100), output_unsigned=True),
    "TRANSPOSE": ("TRANSPOSE", [In((2, 3, 4, 5), I16)], {"perms": (0, 3, 1, 2)}),
    "SLICE": ("SLICE", [In((4, 5, 6), I32), numbers(1, 0, 2), numbers(2, 5, 3)], {}),
    "REVERSE": ("REVERSE", [In((2, 5, 3), I8)], {"axis": 1}),
    "REVERSE of all": ("REVERSE", [In((7,), I8)], {"axis": 0}),
    "TILE": ("TILE", [In((2, 3, 1), I8), numbers(2, 1, 4)], {}),
    "CONCAT": ("CONCAT", [In((2, 3, 4), I16), In((2, 1, 4), I16), In((2, 2, 4), I16)], {"axis": 1}),
    "CONCAT with a number": ("CONCAT", [In((3, 1), I32), Const([[4], [5], [6]], I32)], {"axis": 1}),
    "PAD": ("PAD", [In((2, 3, 4), I8), numbers(0, 1, 2, 0, 1, 1), zero(I8, -9)], {}),
    **{f"{name}": (name, [In((3, 2, 5), B, 0, 1)], {"axis": 1}) for name in ("REDUCE_ALL", "REDUCE_ANY")},
    **{f"{name} {axis}": (name, [In((3, 4, 5), I16)], {"axis": axis})
       for name in ("REDUCE_MAX", "REDUCE_MIN", "ARGMAX") for axis in (0, 1, 2)},
    "ARGMAX, equal ones": ("ARGMAX", [In((6, 9), I8, 0, 2)], {"axis": 1}),
    "REDUCE_SUM": ("REDUCE_SUM", [In((3, 4, 5), I32, -(2**27), 2**27)], {"axis": 2}),
    "GATHER": ("GATHER", [In((2, 9, 4), I8), In((2, 7), I32, 0, 8)], {}),
    "GATHER of a constant": ("GATHER", [Const(RNG.integers(-99, 99, (1, 9, 4)), I16), In((1, 7), I32, 0, 8)], {}),
    "SCATTER": ("SCATTER", [In((1, 9, 4), I16), Const([[3, 0, 8]], I32), In((1, 3, 4), I16)], {}),
    "MATMUL INT8": ("MATMUL", [In((2, 3, 20), I8), In((2, 20, 5), I8), zero(I8, 3), zero(I8, -7)], {}),
    **{f"CONV2D {name}": convolved("CONV2D", *more) for name, *more in (
        ("of channels", (2, 6, 7, 5), (4, 3, 2, 5), {}),
        ("padded", (1, 6, 7, 3), (4, 3, 3, 3), {"pad": (1, 1, 1, 1)}),
        ("strided and padded", (1, 8, 7, 3), (2, 3, 3, 3), {"pad": (0, 1, 1, 1), "stride": (2, 2)}),
        ("dilated", (1, 9, 8, 2), (3, 2, 3, 2), {"pad": (2, 2, 0, 0), "dilation": (3, 2)}),
        ("1x1", (1, 5, 4, 6), (7, 1, 1, 6), {}),
        ("of one pixel", (3, 1, 1, 6), (7, 1, 1, 6), {}),
        ("of one channel", (1, 5, 5, 1), (1, 3, 3, 1), {}),
    )},
    "CONV2D of one bias": convolved("CONV2D", (1, 5, 4, 6), (7, 3, 3, 6), {}, bias=1),
    "CONV2D without zero points": convolved("CONV2D", (1, 5, 4, 6), (7, 3, 3, 6), {}, zero_points=(0, 0)),
    "CONV2D of two images": ("CONV2D", [In((1, 5, 4, 3), I8), In((2, 3, 3, 3), I8), Const([-9, 7], I32),
                                        zero(I8, 5), zero(I8, 0)], CONV),
    **{f"DEPTHWISE_CONV2D {name}": convolved("DEPTHWISE_CONV2D", *more) for name, *more in (
        ("plain", (2, 6, 7, 5), (3, 2, 5, 1), {}),
        ("padded", (1, 6, 7, 5), (3, 3, 5, 1), {"pad": (1, 1, 1, 1)}),
        ("multiplied", (1, 6, 7, 3), (3, 3, 3, 4), {"pad": (1, 0, 0, 1), "stride": (2, 1)}),
        ("dilated", (1, 9, 9, 2), (3, 2, 2, 1), {"dilation": (2, 3), "pad": (1, 1, 1, 1)}),
        ("of one channel", (1, 5, 5, 1), (3, 3, 1, 1), {"pad": (1, 1, 1, 1)}),
    )},
    **{f"TRANSPOSE_CONV2D {name}": convolved("TRANSPOSE_CONV2D", *more) for name, *more in (
        ("plain", (2, 4, 3, 5), (4, 3, 2, 5), {}),
        ("strided", (1, 4, 3, 5), (2, 3, 3, 5), {"stride": (2, 2)}),
        ("larger result", (1, 4, 3, 2), (3, 2, 3, 2), {"stride": (3, 2), "out_pad": (1, 2, 0, 3)}),
        ("smaller result", (1, 5, 4, 2), (3, 3, 4, 2), {"stride": (2, 2), "out_pad": (-1, -2, -3, 0)}),
    )},
    **{f"{name} {bits}, {how}": pooled(name, bits, shape, attrs)
       for name in ("AVG_POOL2D", "MAX_POOL2D") for bits in (I8, I16) for how, shape, attrs in (
        ("plain", (2, 6, 8, 3), {"kernel": (2, 2), "stride": (2, 2)}),
        ("padded", (1, 6, 7, 3), {"kernel": (3, 3), "stride": (1, 2), "pad": (1, 1, 1, 1)}),
        ("at one edge", (1, 6, 7, 3), {"kernel": (3, 2), "stride": (3, 3), "pad": (1, 2, 0, 1)}),
        ("of all", (1, 7, 7, 5), {"kernel": (7, 7), "stride": (1, 1)}),
        ("of nothing", (1, 3, 4, 1), {"kernel": (1, 1), "stride": (1, 1)}),
    )},
    "RESIZE nearest": ("RESIZE", [In((1, 3, 4, 2), I8), numbers(4, 2, 4, 2), numbers(0, 0), numbers(0, 0)],
                       {"mode": "NEAREST_NEIGHBOR"}),
    **{f"RESIZE {mode}, {name}": resized(mode, *scale_and_offset)
       for mode in ("NEAREST_NEIGHBOR", "BILINEAR")
       for name, *scale_and_offset in (
           ("odd scales", (3, 2, 5, 3), (0, 0)),
           ("odd down", (3, 7, 7, 9), (2, 3)),
           ("before the image", (7, 3, 9, 2), (-6, -8)),
           ("as large", (1, 1, 1, 1), (0, 0)),
       )},
    "RESIZE bilinear": ("RESIZE", [In((1, 3, 4, 2), I8), numbers(4, 2, 4, 2), numbers(-1, -1), numbers(1, 1)],
                        {"mode": "BILINEAR"}),
}  # fmt: skip
#: Operators whose results are INT48, of which a graph cannot have outputs: with the RESCALE behind them.
WIDE: Mapping[str, tuple[str, Sequence[In | Const], Mapping[str, Any]]] = {
    "MATMUL INT16": ("MATMUL", [In((2, 3, 20), I16), In((2, 20, 5), I16), zero(I16), zero(I16)], {}),
    **{f"{name} INT16": convolved(name, shape, weights, attrs, I16) for name, shape, weights, attrs in (
        ("CONV2D", (1, 6, 7, 5), (4, 3, 2, 5), {"pad": (1, 1, 0, 1), "stride": (1, 2)}),
        ("DEPTHWISE_CONV2D", (1, 6, 7, 5), (3, 2, 5, 2), {"pad": (1, 0, 1, 0)}),
        ("TRANSPOSE_CONV2D", (1, 4, 3, 5), (2, 3, 3, 5), {"stride": (2, 2)}),
    )},
    "RESIZE INT16": ("RESIZE", [In((1, 3, 4, 2), I16), numbers(4, 2, 4, 2), numbers(-1, -1), numbers(1, 1)],
                     {"mode": "BILINEAR"}),
}  # fmt: skip


def graph_of(name: str) -> Graph:
    graph = Graph()

    def append(op: str, operands: Sequence[Any], attrs: Mapping[str, Any]) -> Op:
        tensors = []
        for operand in operands:
            if isinstance(operand, In):
                tensors.append(graph.input(f"x{len(graph.inputs)}", operand.shape, operand.dtype))
            elif isinstance(operand, Const):
                tensors.append(graph.constant(np.array(operand.data, numpy_dtype(operand.dtype)), operand.dtype))
            else:
                tensors.append(operand)
        return graph.append(op, tensors, attrs)

    op = append(*(ROWS | WIDE)[name])
    if name in WIDE:
        _, (_, *factors), attrs = scaled(In((), I48), I32, 20000, 20)
        op = append("RESCALE", [op.output, *factors], attrs)
    graph.outputs.append(op.output)
    return graph


def inputs_of(name: str) -> list[np.ndarray[Any, Any]]:
    rng, out = np.random.default_rng(1), []
    for operand in (ROWS | WIDE)[name][1]:
        if isinstance(operand, In):
            dtype = numpy_dtype(operand.dtype)
            info = np.iinfo(np.int8 if operand.dtype is B else dtype)
            least, most = (0, 1) if operand.dtype is B else (max(operand.least, info.min), min(operand.most, info.max))
            array = rng.integers(least, most, operand.shape, endpoint=True)
            array.flat[:2] = least, most
            out.append(array.astype(dtype))
    return out


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model_status.h"
#include "tosa_math.h"

{functions}
int main(int count, char **words) {{
    static _Alignas(8) unsigned char input0[1 << 14], input1[1 << 14], input2[1 << 14], wide[1 << 14], output[1 << 14];
    unsigned char *inputs[] = {{input0, input1, input2}};
    int status = 0;
    size_t size = 0;
    for (int i = 2; i < count; i++) {{
        FILE *file = fopen(words[i], "rb");
        if (file == NULL || fread(inputs[i - 2], 1, 1 << 14, file) == 0) return 9;
        fclose(file);
    }}
    (void)wide;
    switch (atoi(words[1])) {{
{cases}
    default: return 8;
    }}
    fwrite(output, 1, size, stdout);
    return status;
}}
"""


def case_of(number: int, graph: Graph, functions: Functions) -> str:
    """The calls of a graph's operators."""
    calls, places = [], {tensor: f"input{i}" for i, tensor in enumerate(graph.inputs)}
    for op in graph.ops:
        assert not why_not(op)
        kernel = KERNELS[op.name](op)
        result = "output" if op.output in graph.outputs else "wide"
        operands = {}
        for position in kernel.reads:
            tensor = op.inputs[position]
            kind = c_type(tensor.dtype)
            if tensor.is_constant:
                listed = ", ".join(map(str, constant(tensor).tolist()))
                operands[position] = f"(const {kind}[]){{{listed}}}"
            else:
                operands[position] = f"(const {kind} *)(void *){places[tensor]}"
        call = functions.call(op, kernel, operands, f"({c_type(op.output.dtype)} *)(void *){result}")
        calls.append(f"status = (int){call};" if kernel.may_fail else f"{call};")
        places[op.output] = result
    size = graph.outputs[0].size * numpy_dtype(graph.outputs[0].dtype).itemsize
    return f"    case {number}: {' '.join(calls)} size = {size}; break;"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All rows as one program: its first argument is the row, others are the inputs' files."""
    require("gcc")
    folder = tmp_path_factory.mktemp("kernels")
    functions = Functions()
    cases = "\n".join(case_of(number, graph_of(name), functions) for number, name in enumerate(ROWS | WIDE))
    (folder / "main.c").write_text(MAIN.format(functions=functions.text, cases=cases))
    include = [f"-I{FOLDER / 'common'}", f"-I{FOLDER / 'processor'}"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *WARNINGS, *sanitizers, *include, "-o", str(folder / "kernels"), str(folder / "main.c")]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[:3000]
    return folder / "kernels"


def run_row(program: Path, name: str, arrays: Sequence[np.ndarray[Any, Any]]) -> subprocess.CompletedProcess[bytes]:
    words = [str(list(ROWS | WIDE).index(name))]
    for position, array in enumerate(arrays):
        file = program.parent / f"{position}.bin"
        file.write_bytes(array.tobytes())
        words.append(str(file))
    return subprocess.run([str(program), *words], capture_output=True, timeout=60)


@pytest.mark.parametrize("name", ROWS | WIDE)
def test_kernels_are_the_reference_models(name: str, program: Path) -> None:
    graph, arrays = graph_of(name), inputs_of(name)
    done = run_row(program, name, arrays)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    (wanted,) = reference_model.run(serialize(graph, SPEC), arrays)
    made = np.frombuffer(done.stdout, wanted.dtype).reshape(wanted.shape)
    assert np.array_equal(made, wanted)
    assert wanted.min() < wanted.max(), "of a constant, a comparison says nothing"


EDGES = {
    "tosa_abs(INT32_MIN)": 2**31 - 1,
    "tosa_abs(INT32_MAX)": 2**31 - 1,
    "tosa_abs(-1)": 1,
    "tosa_intdiv(INT32_MIN, -1)": -(2**31),
    "tosa_intdiv(INT32_MIN, 1)": -(2**31),
    "tosa_intdiv(INT32_MIN, INT32_MIN)": 1,
    "tosa_intdiv(INT32_MAX, INT32_MIN)": 0,
    "tosa_intdiv(-7, 2)": -3,
    "tosa_intdiv(7, -2)": -3,
    "tosa_intdiv(5, 0)": 0,
    "tosa_add(INT32_MAX, 1)": -(2**31),
    "tosa_sub(INT32_MIN, 1)": 2**31 - 1,
    "tosa_sub(0, INT32_MIN)": -(2**31),
    "tosa_clz(0)": 32,
    "tosa_clz(-1)": 0,
    "tosa_clz(1)": 31,
    "tosa_mul(INT32_MIN, INT32_MIN, 62)": 1,
    "tosa_mul(INT32_MIN, INT32_MAX, 31)": -(2**31) + 1,
    "tosa_rounded_right_shift(INT32_MAX, 31)": 1,
    "tosa_rounded_right_shift(INT32_MIN, 31)": -1,
    "tosa_scale_32(INT32_MIN, INT32_MAX, 31)": -(2**31) + 1,
    "tosa_scale_32_double_round(INT32_MIN, INT32_MAX, 62)": -1,
    "tosa_floor_div(-1, 3)": -1,
    "tosa_floor_div(-3, 3)": -1,
    "tosa_floor_div(-4, 3)": -2,
}


def test_arithmetic_at_its_edges(tmp_path: Path) -> None:
    """What a program may not have, where the reference model stops, has a result all the same, and no undefined one."""
    require("gcc")
    lines = "\n".join(f'    if ({call} != {number(value)}) {{ puts("{call}"); }}' for call, value in EDGES.items())
    source = f'#include <stdio.h>\n#include "tosa_math.h"\nint main(void) {{\n{lines}\n}}\n'
    (tmp_path / "edges.c").write_text(source)
    flags = [*WARNINGS, "-fsanitize=undefined", "-fno-sanitize-recover=all", f"-I{FOLDER / 'processor'}"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "edges", tmp_path / "edges.c"], check=True, timeout=60)
    done = subprocess.run([tmp_path / "edges"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("index", [-1, 9, 2**31 - 1, -(2**31)])
def test_a_wrong_index_is_an_error(index: int, program: Path) -> None:
    values, indices = inputs_of("GATHER")
    indices[1, 3] = index
    assert run_row(program, "GATHER", [values, indices]).returncode == 6


def test_every_kernel_has_a_row() -> None:
    assert set(KERNELS) == {name for name, _, _ in (*ROWS.values(), *WIDE.values())}


def test_what_has_no_kernel_is_named() -> None:
    graph = Graph()
    x = graph.input("x", (1, 4, 4, 4, 2), I8)
    weights = graph.constant(np.ones((3, 1, 1, 1, 2), np.int8), I8)
    operands = [x, weights, *(graph.constant(np.zeros(1, numpy_dtype(kind)), kind) for kind in (I32, I8, I8))]
    attrs = {"pad": (0,) * 6, "stride": (1, 1, 1), "dilation": (1, 1, 1), "acc_type": I32}
    assert why_not(graph.append("CONV3D", operands, attrs)) == "CONV3D has no kernel"
