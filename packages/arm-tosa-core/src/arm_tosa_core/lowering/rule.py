"""A rule: all that the compiler knows of an operator, declared once, above one function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any, TypeVar

from ..support.errors import UsageError
from .traits import UNKNOWN, Traits

F = TypeVar("F", bound=Callable[..., Any])

#: Where a module keeps the rules that are declared in it, in their order.
_DECLARED = "__arm_tosa_rules__"


class Q(Enum):
    """Quantization policy of an operator: where the annotator observes, and how the integer lowering computes."""

    NONE = "not quantized: integer and bool operators, and those that only exist in float"
    CONV = "input 0 an activation, input 1 a weight (per channel), input 2 a bias; result an accumulator"
    ARITHMETIC = "inputs brought to int32; result int32; with one operand of 8 bits and numbers: a table"
    ACCUMULATE = "sums over axes and matrix products; result an int32 accumulator"
    PRODUCT = "like ARITHMETIC; a product with a number is only a change of scale"
    SHARED = "inputs and outputs have one scale: data is moved, chosen or pooled"
    TABLE = "one operand: the ATen operator itself, evaluated at every integer"
    STEPS = "TABLE for 8 bits; its jumps are not for tables of 16 bits, which interpolate: float or whole numbers then"
    BOUNDS = "a clamp: merged into the requantization of what it follows"
    NORM = "input 0 an activation, its channels scaled and shifted; a composite, but where it is trained"
    PIECEWISE = "a composite: its rule is run to decompose it, before observers are placed"


@dataclass(frozen=True)
class Rule:
    """An operator's rule.

    Args:
        targets: ATen overloads, such as ``"aten.add.Tensor"``; ``"complex.mul.Tensor"`` where an operand is complex.
        function: takes the builder and the operator's arguments, tensors as values; returns a value or a tuple, in
            which a ``Rejected`` stands for a result that nobody may use, and a function without arguments for one
            that is emitted only if the program reads it.
        quant: its quantization policy.
        target: only for the target of this name; None for all.
        decomposition: what it is made of where it is quantized, if it says other operators than ``function``, whose
            arguments it takes; it refuses (``b.require``) what stays whole.
        traits: what else is true of the operator.
    """

    targets: tuple[str, ...]
    function: Callable[..., Any]
    quant: Q
    target: str | None = None
    decomposition: Callable[..., Any] | None = None
    traits: Traits = UNKNOWN

    def __str__(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"


def op(
    *targets: str,
    quant: Q = Q.NONE,
    target: str | None = None,
    decomposition: Callable[..., Any] | None = None,
    traits: Traits = UNKNOWN,
) -> Callable[[F], F]:
    """Declares the function below it as the rule of these overloads; the arguments are those of ``Rule``.

    The rule stays with the module that defines the function: ``RuleSet`` collects it from there, if an entry point of
    the group ``arm_tosa.rules`` names the module, or a package that it is in. It takes a builder (``OpBuilder``) before
    the operator's own arguments, and emits TOSA::

        @op("tiny.scaled_add.default", quant=Q.ARITHMETIC)
        def scaled_add(b, x, y, alpha):
            return b.ADD(b.MUL(x, b.scalar(alpha, like=x)), y)

    Raises:
        UsageError: an overload is not named by a text such as ``"aten.add.Tensor"``, or ``quant`` is no ``Q``.
    """
    if not targets or not all(isinstance(name, str) and "::" not in name for name in targets):
        raise UsageError(f'op() takes names of overloads such as "aten.add.Tensor", not {targets!r}')
    if not isinstance(quant, Q):
        raise UsageError(f"op({targets[0]!r}): quant is one of Q, such as Q.ARITHMETIC, not {quant!r}")

    def declare(function: F) -> F:
        rule = Rule(targets, function, quant, target, decomposition, traits)
        vars(sys.modules[function.__module__]).setdefault(_DECLARED, []).append(rule)
        return function

    return declare


def made(results: Any, is_read: Callable[[int], bool] = lambda _: True) -> Any:
    """What a rule returned, with the results that it left to be emitted; None for those that nobody reads."""
    if not isinstance(results, tuple):
        return results
    return tuple((r() if is_read(i) else None) if callable(r) else r for i, r in enumerate(results))


def rules_in(module: ModuleType) -> tuple[Rule, ...]:
    """The rules that are declared in a module, in their order."""
    return tuple(vars(module).get(_DECLARED, ()))
