"""Scales that are computed at run time: PT2E's dynamic quantization."""

from __future__ import annotations

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.rule import op
from ..lowering.values import Value


@op("quantized_decomposed.choose_qparams.tensor")
def choose_qparams(b: OpBuilder, x: Value, low: int, high: int, eps: float, dtype: torch.dtype) -> tuple[Value, Value]:
    """Scale and zero point with which ``low`` to ``high`` cover the numbers of ``x``, and 0."""
    b.require(
        b.spec.support_float(),
        "computes scales at run time, in float, and the target has integers only",
        "quantize with static scales (is_dynamic=False)",
    )
    x = b.real(x)
    flat = b.RESHAPE(x, [x.size])
    least = b.MINIMUM(b.reduce("REDUCE_MIN", flat, 0), 0.0)
    greatest = b.MAXIMUM(b.reduce("REDUCE_MAX", flat, 0), 0.0)
    scale = b.MAXIMUM(b.MUL(b.SUB(greatest, least), 1.0 / (high - low)), eps)
    steps = b.MUL(least, b.unary("RECIPROCAL", scale))
    zero_point = b.cast(b.clamp(b.SUB(float(low), steps), float(low), float(high)), torch.int32)
    return scale.replace(dtype=torch.float64), zero_point.replace(dtype=torch.int64, bounds=(low, high))
