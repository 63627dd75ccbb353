"""Rules: an operator is declared once, as one function and a quantization policy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from ..compat.executorch import aten_overload
from ..compat.torch import schema_of
from ..support.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


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
            which a ``Rejected`` stands for a result that nobody may use.
        quant: its quantization policy.
        target: only for the target of this name; None for all.
        domain: where a function of one real is defined, if not everywhere: quantized inputs, which rounding may have
            moved beyond, are clamped to it.
        reach: what the results of a function lie between, whatever it is given; None: no bounds on either side.
        decomposition: what a composite is made of where it is quantized, if it says other operators than ``function``,
            whose arguments it takes.
        contiguous: the operator counts elements as they lie in memory; only for operands that lie in their own order.
    """

    targets: tuple[str, ...]
    function: Callable[..., Any]
    quant: Q
    target: str | None = None
    domain: tuple[float, float] | None = None
    reach: tuple[float, float] | None = None
    contiguous: bool = False
    decomposition: Callable[..., Any] | None = None

    def __str__(self) -> str:
        return f"{self.function.__module__}.{self.function.__qualname__}"


_rules: dict[tuple[str, str | None], Rule] = {}
_named: dict[str, Rule] = {}


def op(
    *targets: str,
    quant: Q = Q.NONE,
    target: str | None = None,
    domain: tuple[float, float] | None = None,
    reach: tuple[float, float] | None = None,
    contiguous: bool = False,
    decomposition: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Declares the function below it as the rule of these ATen overloads.

    Raises:
        UsageError: an overload has a rule already (for the same ``target``).
    """

    def declare(function: F) -> F:
        rule = Rule(targets, function, quant, target, domain, reach, contiguous, decomposition)
        for name in targets:
            old = _rules.get((name, target))
            if old is not None:
                raise UsageError(f"{name} has two rules: {old} and {rule}; declare one with target=... or remove it")
            _rules[name, target] = rule
            _named.setdefault(name.rsplit(".", 1)[0], rule)
        return function

    return declare


@functools.cache
def load() -> None:
    """Imports the rules of this package and of every plugin."""
    from .. import rules  # noqa: F401
    from ..plugin import entry_points as plugins

    plugins.load_rules()


def find(name: str, target: str | None = None) -> Rule | None:
    """The rule of an overload for a target, or None."""
    load()
    return _rules.get((name, target)) or _rules.get((name, None))


def rule_named(name: str) -> Rule:
    """The rule of an operator by its name without overload, such as ``"aten.sub"``.

    Raises:
        UsageError: there is none.
    """
    load()
    try:
        return _named[name]
    except KeyError:
        raise UsageError(f"no rule is declared for {name}") from None


def all_rules() -> list[Rule]:
    """Every rule, in order of declaration."""
    load()
    return list(dict.fromkeys(_rules.values()))


#: Operators whose ``_copy`` form is the same operator with another memory contract.
_COPIES = frozenset(
    [
        "alias",
        "as_strided",
        "detach",
        "diagonal",
        "expand",
        "narrow",
        "permute",
        "reshape",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unbind",
        "unfold",
        "unsqueeze",
        "view",
        "view_as_complex",
        "view_as_real",
    ]
)
_ALIASES = {
    "dim_order_ops._to_dim_order_copy.default": "aten._to_copy.default",
    "dim_order_ops._clone_dim_order.default": "aten.clone.default",
    "dim_order_ops._empty_dim_order.default": "aten.empty.memory_format",
}


@functools.cache
def canonical(target: Any) -> str:
    """One name for an operator, whichever dialect it comes from: ``aten.view.default`` for edge's ``view_copy`` too.

    An operator in place has the name of the one that is not, ``aten.add.Tensor`` for ``add_``: nodes that use its
    result say so.
    """
    schema = schema_of(aten_overload(target))
    if schema is None:
        return str(getattr(target, "__name__", target))
    namespace, base = schema.name.split("::")
    if base.endswith("_copy") and base[:-5] in _COPIES:
        base = base[:-5]
    if base.endswith("_") and not base.endswith("__"):
        base = base[:-1]
    name = f"{namespace}.{base}.{schema.overload_name or 'default'}"
    return _ALIASES.get(name, name)
