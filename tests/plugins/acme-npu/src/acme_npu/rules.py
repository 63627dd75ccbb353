"""How ``acme::scaled_add`` becomes TOSA; behind the entry point ``acme`` of the group ``arm_tosa.rules``."""

from __future__ import annotations

from arm_tosa_core.extend import OpBuilder, Q, Value, op

from . import ops  # noqa: F401  (torch must know the operator)


@op("acme.scaled_add.default", quant=Q.ARITHMETIC, target="acme")
def scaled_add(b: OpBuilder, x: Value, y: Value, alpha: float) -> Value:
    """``alpha * x + y``; quantized operands are brought to one scale in int32."""
    return b.ADD(b.MUL(x, b.scalar(alpha, like=x)), y)
