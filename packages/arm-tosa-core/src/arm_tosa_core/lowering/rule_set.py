"""The rules of one target: what quantizer, builders and lowering look operators up in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType

from torch.fx import Node

from ..plugin import entry_points
from ..support.errors import Rejected, UsageError
from ..support.install_advice import from_here
from .operator_names import canonical
from .rule import Rule, rules_in
from .traits import UNKNOWN, Traits


class RuleSet:
    """The rules for one target, its own before those that are for all.

    Args:
        rules: any; those that are for other targets are left out.
        target: the name of the target; None: only the rules that are for all.

    Raises:
        UsageError: an overload has two rules for one target, or two for all.
    """

    def __init__(self, rules: Iterable[Rule], target: str | None = None) -> None:
        self.target = target
        every = self._every = list(rules)
        general, own = (_by_overload(rule for rule in every if rule.target == name) for name in (None, target))
        self._rules = general | own

    @staticmethod
    def of(target: str | None) -> RuleSet:
        """The rules that the installed distributions declare for a target; None: those that are for all.

        One object for each target, until other modules are found (``entry_points.refresh``).

        Raises:
            UsageError: an overload has two rules, or the rules of this package are not installed.
        """
        return _of(target, entry_points.rule_modules())

    def find(self, name: str) -> Rule | None:
        """The rule of an overload by its name (``canonical``), such as ``"aten.add.Tensor"``; None if there is none."""
        return self._rules.get(name)

    def missing(self, name: str) -> Rejected:
        """Why an overload has no rule here, and what to do; knows of rules for other targets and other overloads."""
        others = sorted({rule.target for rule in self._every if name in rule.targets and rule.target is not None})
        operator = name.rpartition(".")[0]
        overloads = sorted(
            other
            for rule in self._every
            if rule.target in (None, self.target)
            for other in rule.targets
            if operator in (other, other.rpartition(".")[0])
        )
        known = ""
        if others:
            here = f" on {self.target}" if self.target else ""
            known = f"{here}, only for the target {' and '.join(others)}"
        elif overloads:
            known = f", only for {' and '.join(overloads)}"
        return Rejected(
            f"there is no rule for {name}{known}",
            f"write one, in a package with an entry point in the group {entry_points.RULES}: "
            "help(arm_tosa_core.op) says how",
        )

    def of_node(self, node: Node) -> Rule | None:
        """The rule of the operator that a node of an FX graph calls; None if it has none, or calls none."""
        return self._rules.get(canonical(node.target)) if node.op == "call_function" else None

    def traits_of(self, node: Node) -> Traits:
        """What is known of the operator that a node of an FX graph calls."""
        rule = self.of_node(node)
        return UNKNOWN if rule is None else rule.traits

    def __iter__(self) -> Iterator[Rule]:
        """Each rule once, in order of declaration."""
        return iter(dict.fromkeys(self._rules.values()))


@cache
def _of(target: str | None, modules: tuple[ModuleType, ...]) -> RuleSet:
    root = __name__.partition(".")[0]
    if not any(module.__name__.partition(".")[0] == root for module in modules):
        raise UsageError(
            f"the installed distribution of {root} names no rules in the entry-point group {entry_points.RULES}: "
            f"install it again: {from_here(root.replace('_', '-'), again=True)}"
        )
    return RuleSet((rule for module in modules for rule in rules_in(module)), target)


def _by_overload(rules: Iterable[Rule]) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for rule in rules:
        for name in rule.targets:
            if name in found:
                raise UsageError(
                    f"{name} has two rules: {found[name]} and {rule}; declare one with target=... or remove it"
                )
            found[name] = rule
    return found


#: For builders whose caller uses TOSA operators alone.
NO_RULES = RuleSet(())
