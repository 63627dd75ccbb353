"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from arm_tosa_core.tosa.ir import DType, Op

from ..c_text import c_type, operand
from .kernel import Kernel, constant
from .loops import Walk, loop, nest, row_major


def matmul(op: Op) -> Kernel:
    """Products of matrices, one of each batch; those of INT16 are summed with 64 bits, of which TOSA has 48."""
    batches, height, depth = op.inputs[0].shape
    width = op.inputs[1].shape[2]
    zero_points = [int(constant(op.inputs[position])[0]) for position in (2, 3)]
    kind = c_type(op.output.dtype)
    widened = "(int64_t)" if op.output.dtype is DType.INT48 else ""

    def factor(position: int, index: str) -> str:
        zero_point = zero_points[position]
        return f"input{position}[{index}]" if not zero_point else f"(input{position}[{index}] - {operand(zero_point)})"

    def statement(index: Sequence[str]) -> list[str]:
        a = factor(0, f"{index[1]} + r")
        b = factor(1, f"{index[2]} + {width}u * r")
        return [
            f"{kind} sum = 0;",
            "",
            *loop("r", depth, [f"sum += {widened}{a} * {b};"]),
            f"output[{index[0]}] = sum;",
        ]

    walks = [
        Walk(row_major((batches, height, width))),
        Walk((height * depth, depth, 0)),
        Walk((depth * width, 0, 1)),
    ]
    return Kernel((0, 1), tuple(nest((batches, height, width), walks, statement)))
