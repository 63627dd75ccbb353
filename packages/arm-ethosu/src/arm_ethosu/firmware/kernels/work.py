"""The work of an operator on the processor."""

from __future__ import annotations

from arm_tosa_core.tosa.ir import Op


def element_operations(op: Op) -> int:
    """Times that the innermost statements of its kernel run: a count, of which some take longer than others."""
    if op.name == "MATMUL":
        return op.output.size * op.inputs[0].shape[2]
    if op.name == "PAD":
        return op.output.size + op.inputs[0].size
    if op.name == "SCATTER":
        return op.output.size + op.inputs[2].size
    if op.name == "ARGMAX" or op.name.startswith("REDUCE_"):
        return op.inputs[0].size
    return op.output.size
