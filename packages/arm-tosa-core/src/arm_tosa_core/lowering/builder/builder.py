"""The builder that rules are run under when a model is lowered; ``op_builder`` describes its methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ...compat.torch import OpOverload
from ...plugin.target import Preferences
from ...support.errors import UsageError, require
from ...tosa.graph import Graph
from ...tosa.specification import TosaSpecification
from ...tosa.verifier import Check
from ..op_builder import OpBuilder
from ..operator_names import AtenCalls, canonical
from ..rule import made
from ..rule_set import NO_RULES, RuleSet
from ..values import Complex, Value
from .block_scaled import BlockScaled
from .convolution import Convolutions
from .custom import CustomOperators
from .images import ImageOperators
from .reductions import Reductions
from .rounding import Rounding
from .selection import Selection
from .tables import Tables


class Builder(Convolutions, Reductions, Selection, Tables, Rounding, ImageOperators, BlockScaled, CustomOperators):
    """Emits TOSA: the ``OpBuilder`` of a graph. ``OpBuilder`` describes the methods.

    Args:
        graph, spec, checks, preferences: as of ``Emitter``.
        rules: of the target, for ``b.aten``.
    """

    def __init__(
        self,
        graph: Graph,
        spec: TosaSpecification,
        checks: Sequence[Check] = (),
        *,
        rules: RuleSet = NO_RULES,
        preferences: Preferences | None = None,
    ) -> None:
        super().__init__(graph, spec, checks, preferences=preferences)
        self.rules = rules

    require = staticmethod(require)

    @property
    def aten(self) -> AtenCalls[Value]:
        """``b.aten.sub(x, y)`` runs the rule of ``aten.sub`` in place."""
        return AtenCalls(self._run_rule, _fake)

    def _run_rule(self, overload: OpOverload, args: Any, kwargs: Any) -> Any:
        name = canonical(overload)
        rule = self.rules.find(name)
        if rule is None:
            raise UsageError(f"a rule calls {name}, which has no rule itself: declare one")
        return made(rule.function(self, *args, **kwargs))

    # -- composites, whose scales are chosen already: nothing is bounded for them, and nothing left out ----------------

    def within(self, value: Value, low: float, high: float) -> Value:
        return value

    def range_of_interest(self, value: Value, low: float, high: float) -> Value:
        return value

    def known(self, value: Value) -> torch.Tensor | None:
        return value.real() if value.is_const else None

    def is_neutral(self, operand: Value, number: float) -> bool:
        return False

    def as_where(self, value: Value) -> tuple[Value, Value, float] | None:
        return None

    def is_quantized(self, value: Value) -> bool:
        return value.quant is not None


def _fake(value: Any) -> Any:
    if isinstance(value, (Value, Complex)):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    return value


if TYPE_CHECKING:

    def _implements(builder: Builder) -> OpBuilder:
        return builder
