"""Operators that move numbers and leave them as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from arm_tosa_core.tosa.ir import Op

from .kernel import Kernel, constant, converted, element, lines, pointers
from .loops import Walk, nest, row_major


def _copy(sizes: Sequence[int], to: Walk, source: Walk, operand: int = 0) -> list[str]:
    return nest(sizes, [to, source], lambda index: [f"output[{index[0]}] = input{operand}[{index[1]}];"])


def transpose(op: Op) -> Kernel:
    strides = row_major(op.inputs[0].shape)
    source = Walk(tuple(strides[axis] for axis in op.attrs["perms"]))
    return Kernel((0,), tuple(_copy(op.output.shape, Walk(row_major(op.output.shape)), source)))


def slice_(op: Op) -> Kernel:
    strides = row_major(op.inputs[0].shape)
    offset = sum(start * stride for start, stride in zip(constant(op.inputs[1]).tolist(), strides, strict=True))
    return Kernel((0,), tuple(_copy(op.output.shape, Walk(row_major(op.output.shape)), Walk(strides, offset))))


def reverse(op: Op) -> Kernel:
    strides = row_major(op.output.shape)
    turned = tuple(-stride if axis == op.attrs["axis"] else stride for axis, stride in enumerate(strides))
    return Kernel((0,), tuple(_copy(op.output.shape, Walk(strides), Walk(turned))))


def tile(op: Op) -> Kernel:
    """Each axis is two: how often, and its own."""
    shape, strides = op.inputs[0].shape, row_major(op.inputs[0].shape)
    to = row_major(op.output.shape)
    sizes: list[int] = []
    result: list[int] = []
    source: list[int] = []
    for axis, times in enumerate(constant(op.inputs[1]).tolist()):
        sizes += [times, shape[axis]]
        result += [to[axis] * shape[axis], to[axis]]
        source += [0, strides[axis]]
    return Kernel((0,), tuple(_copy(sizes, Walk(tuple(result)), Walk(tuple(source)))))


def concat(op: Op) -> Kernel:
    strides = row_major(op.output.shape)
    body: list[str] = []
    at = 0
    for operand, tensor in enumerate(op.inputs):
        to = Walk(strides, at * strides[op.attrs["axis"]])
        body += _copy(tensor.shape, to, Walk(row_major(tensor.shape)), operand)
        at += tensor.shape[op.attrs["axis"]]
    return Kernel(tuple(range(len(op.inputs))), tuple(body))


def pad(op: Op) -> Kernel:
    """Fills the result, then copies."""
    strides = row_major(op.output.shape)
    before = constant(op.inputs[1]).tolist()[::2]
    offset = sum(amount * stride for amount, stride in zip(before, strides, strict=True))
    fill = element(op, 2, "0")
    shape = op.inputs[0].shape
    return Kernel(
        pointers(op, 0, 2),
        lines(
            nest((prod(op.output.shape),), [Walk((1,))], lambda index: [f"output[{index[0]}] = {fill};"]),
            nest(
                shape,
                [Walk(strides, offset), Walk(row_major(shape))],
                lambda index: [f"output[{index[0]}] = {converted(element(op, 0, index[1]), op.output.dtype)};"],
            ),
        ),
    )


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
