"""A task's own figure, such as top-1: a function of the user's that judges outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..compat.torch import tree_leaves
from ..support.errors import UsageError

#: ``metric(float_outputs, quantized_outputs, samples)``: a number, higher is better. Each is a list with one element
#: per sample: what the float model returns, what the quantized model returns, and the tuple of the model's inputs.
Metric = Callable[[Sequence[Any], Sequence[Any], Sequence[tuple[Any, ...]]], Any]


@dataclass
class Calls:
    """The calls that a metric is asked about."""

    exact: list[Any] = field(default_factory=list)
    noisy: list[Any] = field(default_factory=list)
    inputs: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, exact: Any, noisy: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """One call: the outputs as the model returns them, and its arguments."""
        self.exact.append(exact)
        self.noisy.append(noisy)
        self.inputs.append(tuple(tree_leaves((args, dict(kwargs)))))

    def score(self, metric: Metric) -> float:
        """The quantized model's figure.

        Raises:
            UsageError: the function gives no finite number.
        """
        return _number(metric(self.exact, self.noisy, self.inputs))

    def score_of_float(self, metric: Metric) -> float:
        """The float model's figure: it is asked with the float outputs in both places."""
        return _number(metric(self.exact, self.exact, self.inputs))


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(f"the metric must return one number, but returned {type(value).__name__}") from None
    if not math.isfinite(number):
        raise UsageError(f"the metric returned {number}: return a finite number, higher is better")
    return number
