"""One way to compile a model, and its outcome; without PyTorch, as workers and the command line share it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..exir.figures import Figures
from ..exir.provenance import of_spec
from ..exir.target_options import spec_of_name
from ..plugin import entry_points as plugins

Parameters = tuple[tuple[str, Any], ...]
#: The scheme of a model that is quantized already.
AS_IS = "as-is"
#: Points with one quantized program: the parameters of the model, and the scheme.
Group = tuple[Parameters, str]


@dataclass(frozen=True)
class Point:
    """One way to compile a model.

    Args:
        target: a name from ``arm-tosa targets``, or from ``arm-tosa chips``.
        scheme: of quantization: a name, ``float``, ``as-is``, or a ``.json`` file of
            ``arm-tosa accuracy``.
        options: of the target, as ``--option`` takes them; those left out are the target's defaults.
        parameters: of the function that makes the model.
    """

    target: str
    scheme: str
    options: tuple[tuple[str, str], ...] = ()
    parameters: Parameters = ()

    @property
    def group(self) -> Group:
        """The key of its quantized program among points of the same specification."""
        return self.parameters, self.scheme

    @property
    def work(self) -> tuple[object, ...]:
        """The same for points that are compiled in one way: two chips may be alike."""
        chip = plugins.chips().get(self.target)
        target, options = (self.target, {}) if chip is None else (chip.target, chip.options)
        return target, frozenset({**options, **dict(self.options)}.items()), self.group

    def digest(self, origin: str) -> str:
        """A name for its result, from all of its fields and ``origin``, a name for the model and the data.

        Raises:
            UsageError: the target does not take the options.
        """
        scheme = Path(self.scheme).read_text() if self.scheme.endswith(".json") else self.scheme
        parts = [origin, self.target, scheme, json.dumps(self.parameters), *_spec(self.target, self.options)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def __str__(self) -> str:
        words = [self.target, self.scheme, *(f"{key}={value}" for key, value in (*self.options, *self.parameters))]
        return " ".join(words)


@cache
def _spec(target: str, options: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(of_spec(spec_of_name(target, dict(options))))


@dataclass(frozen=True)
class Accuracy:
    """The loss of a quantized model.

    Args:
        metric: of the user's function for the quantized model; None without one.
        float_metric: the same for the float model.
        sqnr_db: of the worst output that is real numbers, dB; infinite for the float model; None if there is none.
    """

    metric: float | None = None
    float_metric: float | None = None
    sqnr_db: float | None = None

    @property
    def value(self) -> float | None:
        """Higher is better: the metric, or the SQNR if there is none."""
        return self.sqnr_db if self.metric is None else self.metric

    @property
    def drop(self) -> float | None:
        """By how much the metric is below that of the float model."""
        return None if self.metric is None or self.float_metric is None else self.float_metric - self.metric


@dataclass(frozen=True)
class Evaluation:
    """The figures of a point.

    Args:
        accuracy: None if it was not judged.
        program: a digest of the model's program in float; None if it has none (control flow).
        seconds: that it took, on the worker's clock.
        cached: the ``.pte`` was there already.
    """

    figures: Figures
    accuracy: Accuracy | None
    program: str | None
    seconds: float
    cached: bool = False

    @property
    def latency(self) -> float | None:
        """Seconds of one inference, of the delegates alone, estimated; None: the target estimates none."""
        rate = self.figures.inferences_per_second
        return None if rate is None else 1 / rate


@dataclass(frozen=True)
class Failure:
    """Why a point has no figures.

    Args:
        reason: for the user.
        lasting: it would fail again, and is kept; otherwise a worker or a tool died, or a disk was full, and the next
            sweep tries it again.
    """

    reason: str
    lasting: bool = True

    @property
    def line(self) -> str:
        """The reason's first line."""
        return self.reason.splitlines()[0] if self.reason else "no reason"


Outcome = Evaluation | Failure


@dataclass(frozen=True)
class Result:
    """A point and its outcome."""

    point: Point
    outcome: Outcome
