"""Operators that read, or write, where indices say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arm_tosa_core.tosa.ir import Op

from .kernel import Kernel, lines
from .loops import Walk, nest, row_major


def gather(op: Op) -> Kernel:
    """Rows of the first operand, by their numbers."""
    return Kernel((0, 1), lines(_rows(op, lambda row, place: (place, f"input0[{row}]")), _DONE), may_fail=True)


def scatter(op: Op) -> Kernel:
    """A copy of the first operand, in which rows of the last replace others, by their numbers."""
    copy = f"(void)memcpy(output, input0, {op.output.size}u * sizeof(output[0]));"
    rows = _rows(op, lambda row, place: (row, f"input2[{place}]"))
    return Kernel((0, 1, 2), lines(copy, rows, _DONE), may_fail=True)


_DONE = "return MODEL_OK;"


def _rows(op: Op, copy: Callable[[str, str], tuple[str, str]]) -> list[str]:
    """A loop over the indices, which copies a row for each; an index that is out of range is an error.

    Args:
        copy: takes the first elements of the row that the index names and of the row at the index's place; returns that
            of the result and the C expression of its source.
    """
    batches, rows, width = op.inputs[0].shape
    count = op.inputs[1].shape[1]

    def statement(index: Sequence[str]) -> list[str]:
        place, first = index
        row = "(size_t)row" if first == "0" else f"({first} + (size_t)row)"
        position = f"({place})" if " " in place else place
        to, source = copy(f"{row} * {width}u", f"{position} * {width}u")
        return [
            f"const int32_t row = input1[{place}];",
            "",
            f"if (row < 0 || row >= {rows}) {{",
            "    return MODEL_INDEX_OUT_OF_RANGE;",
            "}",
            f"(void)memcpy(&output[{to}], &{source}, {width}u * sizeof(output[0]));",
        ]

    return nest((batches, count), [Walk(row_major((batches, count))), Walk((rows, 0))], statement)
