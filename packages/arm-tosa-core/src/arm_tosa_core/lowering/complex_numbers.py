"""Complex numbers as two tensors, from operators that move data to those that compute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from .op_builder import OpBuilder
from .operator_names import map_arguments
from .rule import Q, Rule
from .rule_set import RuleSet
from .values import Complex, Value

Parts = tuple[Value, Value]


def is_complex(x: Any) -> bool:
    """Whether an operand is complex; a constant may be one too."""
    return isinstance(x, (Value, Complex)) and x.dtype.is_complex


def parts(b: OpBuilder, x: Any) -> Parts:
    """Real and imaginary part, also of a real operand or a number."""
    if isinstance(x, Complex):
        return x.real, x.imag
    if not isinstance(x, Value):
        x = b.const(torch.tensor(x))
    if x.const is not None and x.dtype.is_complex:
        return b.const(x.const.real.float()), b.const(x.const.imag.float())
    x = b.floating(b.real(x))
    return x, b.const(torch.zeros(x.shape, dtype=x.dtype))


def find_complex(name: str, rules: RuleSet) -> Rule | None:
    """The rule of an overload, ``aten...``, for complex operands: their own, or one that moves data, by parts."""
    own, rule = rules.find(name.replace("aten.", "complex.", 1)), rules.find(name)
    if own is not None or rule is None or rule.quant is not Q.SHARED:
        return own

    def function(b: OpBuilder, *args: Any, **kwargs: Any) -> Any:
        def of(which: int) -> Any:
            parted = map_arguments(args, lambda v: parts(b, v)[which] if is_complex(v) else v)
            return rule.function(b, *parted, **kwargs)

        real, imag = of(0), of(1)
        if isinstance(real, tuple):
            return tuple(map(Complex, real, imag))
        return Complex(real, imag)

    return replace(rule, function=function, quant=Q.NONE)
