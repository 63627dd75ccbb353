"""The builder that rules are run under: TOSA operators as methods, and ``b.aten`` to re-enter the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ...compat.torch import OpOverload
from ...support.errors import UsageError
from ...tosa.graph import Graph
from ...tosa.specification import TosaSpecification
from ...tosa.verifier import Check
from ..aten_calls import AtenCalls
from ..op_builder import OpBuilder
from ..operator_names import canonical
from ..rule_set import NO_RULES, RuleSet
from ..values import Complex, Value
from .rounding import Steps


class Builder(Steps):
    """Emits TOSA. With ``dry=True`` the graph is thrown away, and what counts is whether a rule refuses.

    ``b.aten.sub(x, y)`` runs the rule of ``aten.sub`` in place.

    Args:
        graph: where operators go.
        spec: what they must conform to.
        checks: limits of the target, asked about every operator.
        rules: those of the target, for ``b.aten``.
        dry: only to find out whether it would work; large constants are not copied.
    """

    def __init__(
        self,
        graph: Graph,
        spec: TosaSpecification,
        checks: Sequence[Check] = (),
        *,
        rules: RuleSet = NO_RULES,
        dry: bool = False,
    ) -> None:
        super().__init__(graph, spec, checks, dry=dry)
        self.rules = rules

    @property
    def aten(self) -> AtenCalls[Value]:
        return AtenCalls(self._run_rule, _fake)

    def _run_rule(self, overload: OpOverload, args: Any, kwargs: Any) -> Any:
        name = canonical(overload)
        rule = self.rules.find(name)
        if rule is None:
            raise UsageError(f"a rule calls {name}, which has no rule itself: declare one")
        return rule.function(self, *args, **kwargs)


def _fake(value: Any) -> Any:
    if isinstance(value, (Value, Complex)):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    return value


if TYPE_CHECKING:

    def _implements(builder: Builder) -> OpBuilder:
        return builder
