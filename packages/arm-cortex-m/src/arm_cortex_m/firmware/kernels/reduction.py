"""Operators that make one number of those along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arm_tosa_core.tosa.ir import Op

from ..c_text import c_type
from .kernel import Kernel
from .loops import Statement, Walk, loop, nest, row_major

#: The result so far and another element.
_REDUCTIONS: Mapping[str, str] = {
    "REDUCE_ALL": "result & {0}",
    "REDUCE_ANY": "result | {0}",
    "REDUCE_MAX": "tosa_max(result, {0})",
    "REDUCE_MIN": "tosa_min(result, {0})",
    "REDUCE_SUM": "tosa_add(result, {0})",
}


def reduce(op: Op) -> Kernel:
    """One of the reductions along an axis."""
    kind = c_type(op.output.dtype)

    def statement(index: Sequence[str]) -> list[str]:
        step = _REDUCTIONS[op.name].format(_along(op, index[1]))
        return [
            f"{kind} result = input0[{index[1]}];",
            "",
            *loop("r", op.inputs[0].shape[op.attrs["axis"]], [f"result = ({kind})({step});"], first=1),
            f"output[{index[0]}] = result;",
        ]

    return _by_axis(op, statement)


def argmax(op: Op) -> Kernel:
    """The first of the greatest along an axis."""

    def statement(index: Sequence[str]) -> list[str]:
        element = _along(op, index[1])
        return [
            f"{c_type(op.inputs[0].dtype)} greatest = input0[{index[1]}];",
            "",
            f"output[{index[0]}] = 0;",
            *loop(
                "r",
                op.inputs[0].shape[op.attrs["axis"]],
                [
                    f"if ({element} > greatest) {{",
                    f"    greatest = {element};",
                    f"    output[{index[0]}] = (int32_t)r;",
                    "}",
                ],
                first=1,
            ),
        ]

    return _by_axis(op, statement)


def _by_axis(op: Op, statement: Statement) -> Kernel:
    shape, axis = op.inputs[0].shape, op.attrs["axis"]
    reduced = tuple(1 if each == axis else size for each, size in enumerate(shape))
    walks = [Walk(row_major(reduced)), Walk(row_major(shape))]
    return Kernel((0,), tuple(nest(reduced, walks, statement)))


def _along(op: Op, index: str) -> str:
    stride = row_major(op.inputs[0].shape)[op.attrs["axis"]]
    step = "r" if stride == 1 else f"{stride}u * r"
    return f"input0[{step}]" if index == "0" else f"input0[{index} + {step}]"


REDUCTIONS = tuple(_REDUCTIONS)
