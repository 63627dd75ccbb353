"""Operators whose result is, at each place, a function of their operands' numbers there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arm_tosa_core.tosa.ir import DType, Op, Tensor

from ..c_text import c_type, operand
from .kernel import OPERATORS, Kernel, bounds, constant, converted, element, pointers
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


#: The same for operators whose attributes, or types, the expression depends on.
_FUNCTIONS: Mapping[str, Callable[..., str]] = {
    "ARITHMETIC_RIGHT_SHIFT": _right_shift,
    "CAST": _cast,
    "CLAMP": _clamp,
    "LOGICAL_RIGHT_SHIFT": _logical_right_shift,
    "MUL": _multiply,
    "NEGATE": _negate,
}
#: Operators whose last operands are constants of another kind than the first.
_OPERANDS = {"MUL": 2, "NEGATE": 1, "RESCALE": 3, "TABLE": 1}
ELEMENTWISE = (*_EXPRESSIONS, *_FUNCTIONS, "RESCALE", "TABLE")
#: The name of several of these at once, as one operator.
TOGETHER = "ELEMENTWISE"
#: The element of an operand in C, by its position.
Element = Callable[[int], str]


def elementwise(op: Op) -> Kernel:
    """The kernel of one of these."""
    reads = read_by(op)

    def statement(index: Sequence[str]) -> list[str]:
        places = dict(zip(reads, index[1:], strict=True))
        return [f"output[{index[0]}] = {result_of(op, lambda at: element(op, at, places.get(at, '')), 'input1')};"]

    walks = [Walk(row_major(op.output.shape)), *(walk_of(op, position) for position in reads)]
    return Kernel(reads, tuple(nest(op.output.shape, walks, statement)))


def together(ops: Sequence[Op]) -> tuple[Op, Kernel]:
    """Several of these as one operator, and its kernel: one loop, with what they hand on in variables.

    Args:
        ops: in an order in which they can run. Only the last one's result is read elsewhere, and all have its shape.
    """
    results = {op.output: f"v{number}" for number, op in enumerate(ops[:-1])}
    outside: dict[tuple[Tensor, Walk], int] = {}
    for op in ops:
        for position in read_by(op):
            if op.inputs[position] not in results:
                outside.setdefault((op.inputs[position], walk_of(op, position)), len(outside))

    def statement(index: Sequence[str]) -> list[str]:
        def text(op: Op) -> str:
            def of(position: int) -> str:
                tensor = op.inputs[position]
                number = outside.get((tensor, walk_of(op, position)))
                if tensor in results:
                    return results[tensor]
                return element(op, position, "") if number is None else f"input{number}[{index[number + 1]}]"

            tables = (number for (tensor, _), number in outside.items() if op.inputs[1:] and tensor is op.inputs[1])
            return result_of(op, of, f"input{next(tables, 0)}")

        lines = [f"const {c_type(op.output.dtype)} {results[op.output]} = {text(op)};" for op in ops[:-1]]
        return [*lines, f"output[{index[0]}] = {text(ops[-1])};"]

    whole = Op(TOGETHER, [tensor for tensor, _ in outside], {OPERATORS: ", ".join(op.name for op in ops)}, None)
    whole.outputs.append(ops[-1].output)
    shape = ops[-1].output.shape
    body = nest(shape, [Walk(row_major(shape)), *(walk for _, walk in outside)], statement)
    return whole, Kernel(tuple(range(len(outside))), tuple(body))


def read_by(op: Op) -> tuple[int, ...]:
    """Positions of the operands that are in memory."""
    return pointers(op, *range(_OPERANDS.get(op.name, len(op.inputs)))) + ((1,) if op.name == "TABLE" else ())


def walk_of(op: Op, position: int) -> Walk:
    rank = op.output.rank
    if op.name == "TABLE" and position == 1:
        return Walk((0,) * rank)
    if op.name == "RESCALE" and position:
        return Walk(tuple(int(op.attrs["per_channel"] and axis == rank - 1) for axis in range(rank)))
    return broadcast(op.inputs[position].shape)


def result_of(op: Op, of: Element, table: str) -> str:
    """The result of an operator in C.

    Args:
        table: the name of that of a TABLE.
    """
    if op.name == "RESCALE":
        return _rescaled(op, *map(of, range(3)))
    if op.name == "TABLE":
        text = f"{table}[{of(0)} + 128]" if op.inputs[0].dtype is DType.INT8 else f"tosa_interpolate({table}, {of(0)})"
        return converted(text, op.output.dtype)
    values = [of(position) for position in range(_OPERANDS.get(op.name, len(op.inputs)))]
    function = _FUNCTIONS.get(op.name)
    text = _EXPRESSIONS[op.name].format(*values) if function is None else function(op, *values)
    return converted(text, op.output.dtype)


def _rescaled(op: Op, value: str, *factors: str) -> str:
    """RESCALE: zero points, a factor for all or for each of the last axis, and saturation."""
    source, result = op.inputs[0], op.output
    unsigned_in, unsigned_out = op.attrs["input_unsigned"], op.attrs["output_unsigned"]
    before, after = (int(constant(op.inputs[position])[0]) for position in (3, 4))
    if unsigned_in:
        before %= 2**source.dtype.bits
        value = f"({_unsigned(source.dtype)}){value}"
    if unsigned_out:
        after %= 2**result.dtype.bits
    least, most = bounds(result.dtype, unsigned_out)
    function = "tosa_scale_16"
    if op.attrs["scale32"]:
        function = "tosa_scale_32_double_round" if op.attrs["rounding_mode"] == "DOUBLE_ROUND" else "tosa_scale_32"
    if before:
        value = f"{value} - {operand(before)}"
    value = f"{function}({value}, {', '.join(factors)})"
    if after:
        value = f"tosa_add({value}, {operand(after)})"
    if result.dtype is not DType.INT32:
        value = f"tosa_clamp({value}, {operand(least)}, {operand(most)})"
    return f"({c_type(result.dtype)}){f'({_unsigned(result.dtype)}){value}' if unsigned_out else value}"


def _unsigned(dtype: DType) -> str:
    return f"uint{dtype.bits}_t"
