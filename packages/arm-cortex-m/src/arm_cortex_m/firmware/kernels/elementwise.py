"""Operators whose result is, at each place, a function of their operands' numbers there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arm_tosa_core.tosa.ir import DType, Op

from ..c_text import c_type, operand
from .kernel import Kernel, bounds, constant, converted, element, pointers
from .loops import Walk, broadcast, nest, row_major

#: The result, of elements of the operands; the C functions are those of processor/tosa_math.h.
_EXPRESSIONS: Mapping[str, str] = {
    "ABS": "tosa_abs({0})",
    "ADD": "tosa_add({0}, {1})",
    "BITWISE_AND": "{0} & {1}",
    "BITWISE_NOT": "~{0}",
    "BITWISE_OR": "{0} | {1}",
    "BITWISE_XOR": "{0} ^ {1}",
    "CLZ": "tosa_clz({0})",
    "EQUAL": "{0} == {1}",
    "GREATER": "{0} > {1}",
    "GREATER_EQUAL": "{0} >= {1}",
    "INTDIV": "tosa_intdiv({0}, {1})",
    "LOGICAL_AND": "{0} & {1}",
    "LOGICAL_LEFT_SHIFT": "(uint32_t){0} << {1}",
    "LOGICAL_NOT": "{0} ^ 1u",
    "LOGICAL_OR": "{0} | {1}",
    "LOGICAL_XOR": "{0} ^ {1}",
    "MAXIMUM": "tosa_max({0}, {1})",
    "MINIMUM": "tosa_min({0}, {1})",
    "SELECT": "{0} != 0u ? {1} : {2}",
    "SUB": "tosa_sub({0}, {1})",
}


def _cast(op: Op, value: str) -> str:
    return f"{value} != 0" if op.output.dtype is DType.BOOL else value


def _clamp(op: Op, value: str) -> str:
    return f"tosa_clamp({value}, {operand(op.attrs['min_val'])}, {operand(op.attrs['max_val'])})"


def _negate(op: Op, value: str) -> str:
    if op.output.dtype is DType.INT32:
        return f"tosa_sub(0, {value})"
    before, after = (int(constant(tensor)[0]) for tensor in op.inputs[1:])
    least, most = bounds(op.output.dtype)
    return f"tosa_clamp({operand(before + after)} - {value}, {operand(least)}, {operand(most)})"


def _multiply(op: Op, a: str, b: str) -> str:
    if op.inputs[0].dtype is not DType.INT32:
        return f"{a} * {b}"
    return f"tosa_mul({a}, {b}, {constant(op.inputs[2])[0]})"


def _right_shift(op: Op, a: str, b: str) -> str:
    return f"tosa_rounded_right_shift({a}, {b})" if op.attrs["round"] else f"{a} >> {b}"


def _logical_right_shift(op: Op, a: str, b: str) -> str:
    return f"(uint32_t)({_unsigned(op.output.dtype)}){a} >> {b}"


def _table(op: Op, value: str) -> str:
    return f"input1[{value} + 128]" if op.inputs[0].dtype is DType.INT8 else f"tosa_interpolate(input1, {value})"


def _unsigned(dtype: DType) -> str:
    return f"uint{dtype.bits}_t"


#: The same for operators whose attributes, or types, the expression depends on.
_FUNCTIONS: Mapping[str, Callable[..., str]] = {
    "ARITHMETIC_RIGHT_SHIFT": _right_shift,
    "CAST": _cast,
    "CLAMP": _clamp,
    "LOGICAL_RIGHT_SHIFT": _logical_right_shift,
    "MUL": _multiply,
    "NEGATE": _negate,
    "TABLE": _table,
}
#: Operators whose last operands are constants of another kind than the first.
_OPERANDS = {"MUL": 2, "NEGATE": 1, "TABLE": 1}


def elementwise(op: Op) -> Kernel:
    """The kernel of one of these."""
    count = _OPERANDS.get(op.name, len(op.inputs))
    operands = range(count)
    shape = op.output.shape

    def statement(index: Sequence[str]) -> list[str]:
        values = [element(op, position, index[position + 1]) for position in operands]
        function = _FUNCTIONS.get(op.name)
        text = _EXPRESSIONS[op.name].format(*values) if function is None else function(op, *values)
        return [f"output[{index[0]}] = {converted(text, op.output.dtype)};"]

    walks = [Walk(row_major(shape)), *(broadcast(op.inputs[position].shape) for position in operands)]
    reads = pointers(op, *operands) + ((1,) if op.name == "TABLE" else ())
    return Kernel(reads, tuple(nest(shape, walks, statement)))


def rescale(op: Op) -> Kernel:
    """RESCALE: zero points, a factor for all or for each of the last axis, and saturation."""
    source, result = op.inputs[0], op.output
    unsigned_in, unsigned_out = op.attrs["input_unsigned"], op.attrs["output_unsigned"]
    before, after = (int(constant(op.inputs[position])[0]) for position in (3, 4))
    if unsigned_in:
        before %= 2**source.dtype.bits
    if unsigned_out:
        after %= 2**result.dtype.bits
    least, most = bounds(result.dtype, unsigned_out)
    function = "tosa_scale_16"
    if op.attrs["scale32"]:
        function = "tosa_scale_32_double_round" if op.attrs["rounding_mode"] == "DOUBLE_ROUND" else "tosa_scale_32"
    channel = Walk(tuple(int(op.attrs["per_channel"] and axis == source.rank - 1) for axis in range(source.rank)))

    def statement(index: Sequence[str]) -> list[str]:
        value = element(op, 0, index[1])
        if unsigned_in:
            value = f"({_unsigned(source.dtype)}){value}"
        if before:
            value = f"{value} - {operand(before)}"
        factors = (element(op, position, index[2]) for position in (1, 2))
        value = f"{function}({value}, {', '.join(factors)})"
        if after:
            value = f"tosa_add({value}, {operand(after)})"
        if result.dtype is not DType.INT32:
            value = f"tosa_clamp({value}, {operand(least)}, {operand(most)})"
        text = f"({_unsigned(result.dtype)}){value}" if unsigned_out else value
        return [f"output[{index[0]}] = ({c_type(result.dtype)}){text};"]

    walk = Walk(row_major(source.shape))
    return Kernel(pointers(op, 0, 1, 2), tuple(nest(source.shape, [walk, walk, channel], statement)))


ELEMENTWISE = (*_EXPRESSIONS, *_FUNCTIONS)
