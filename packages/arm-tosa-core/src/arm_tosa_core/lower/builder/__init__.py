"""The builder that rules are run under: TOSA operators as methods, and ``b.aten`` to re-enter the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..op_builder import OpBuilder
from ..values import Value
from .rounding import Steps


class Builder(Steps):
    """Emits TOSA. With ``dry=True`` the graph is thrown away, and what counts is whether a rule refuses.

    ``b.aten.sub(x, y)`` runs the rule of ``aten.sub`` in place.
    """

    @property
    def aten(self) -> Aten:
        return Aten(self)


class Aten:
    """``b.aten``: each attribute is the rule of that ATen operator, bound to the builder."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[..., Value]:
        from ..registry import rule_named

        rule = rule_named(f"aten.{name}")
        return lambda *args, **kwargs: rule.function(self._builder, *args, **kwargs)


if TYPE_CHECKING:

    def _implements(builder: Builder) -> OpBuilder:
        return builder
