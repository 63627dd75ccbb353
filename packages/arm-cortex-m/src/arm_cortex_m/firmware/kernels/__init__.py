"""TOSA operators on the processor: C source text of the integer ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arm_tosa_core.tosa.ir import Op

from ..c_text import has_c_type
from .convolution import conv2d, depthwise_conv2d, transpose_conv2d
from .elementwise import ELEMENTWISE, elementwise
from .kernel import Kernel
from .matmul import matmul
from .movement import concat, gather, pad, reverse, scatter, slice_, tile, transpose
from .pool import avg_pool2d, max_pool2d
from .reduction import REDUCTIONS, argmax, reduce
from .resize import resize

#: Makers of an operator's kernel. RESHAPE and IDENTITY need none: their result is their operand.
KERNELS: Mapping[str, Callable[[Op], Kernel]] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    **dict.fromkeys(REDUCTIONS, reduce),
    "ARGMAX": argmax,
    "AVG_POOL2D": avg_pool2d,
    "CONCAT": concat,
    "CONV2D": conv2d,
    "DEPTHWISE_CONV2D": depthwise_conv2d,
    "GATHER": gather,
    "MATMUL": matmul,
    "MAX_POOL2D": max_pool2d,
    "PAD": pad,
    "RESIZE": resize,
    "REVERSE": reverse,
    "SCATTER": scatter,
    "SLICE": slice_,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV2D": transpose_conv2d,
}
#: Operators whose result is their first operand, as it lies in memory.
ALIASES = ("IDENTITY", "RESHAPE")


def why_not(op: Op) -> str:
    """Why an operator has no kernel; empty: it has one."""
    if op.name in ALIASES:
        return ""
    if op.name not in KERNELS:
        return f"{op.name} has no kernel"
    types = {tensor.dtype for tensor in (*op.inputs, *op.outputs) if not tensor.is_constant}
    if unknown := sorted(dtype for dtype in types if not has_c_type(dtype)):
        return f"{op.name} of {', '.join(unknown)} has no kernel"
    if op.attrs.get("rounding_mode") == "INEXACT_ROUND":
        return "RESCALE with INEXACT_ROUND has no kernel"
    return ""
