"""Names that programs written for ``executorch.backends.arm`` use and that say nothing here, all in one place.

The classes of this project inherit them. ``docs/reference/compatibility.md`` lists all names, those that mean the same
among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .errors import UsageError

#: ``use_composable_quantizer`` chooses one of two quantizers there. There is one here, which does what both offer: the
#: argument changes nothing.
OneQuantizer: TypeAlias = bool


class CompileSpecNames:
    """Of a compile spec."""

    def set_pass_pipeline_config(self, config: object) -> None:
        """Chooses there between forms of that compiler's passes.

        Raises:
            UsageError: always, with what to use here.
        """
        raise UsageError(
            f"{type(self).__name__}.set_pass_pipeline_config chooses between passes of executorch.backends.arm, and "
            "this compiler has none of them: softmax, leaky_relu and masks need no choice here, so remove "
            'the call; a transform of your own is a Rewrite, which add_rewrites() takes ("Add a rewrite" in the docs)'
        )


class PartitionerNames(ABC):
    """Of a partitioner."""

    @abstractmethod
    def missing_rule(self, op: Any) -> str:
        """Why an operator has no rule, and how to write one; empty: it has one."""

    def register_custom_partition_op(self, op: Any) -> None:
        """Has a custom operator delegated there. Here an operator that has a rule is delegated without it.

        Raises:
            UsageError: it has none; says how to write one.
        """
        if why := self.missing_rule(op):
            raise UsageError(f"register_custom_partition_op: {why}")


@dataclass(frozen=True)
class SpecificationNames:
    """Of a TOSA specification.

    Args:
        is_U55_subset: the target is an Ethos-U55, whose limits are checked by its own package here; the word ``u55``.
    """

    is_U55_subset: bool = field(default=False, kw_only=True)
