"""A model under measurement: quantized by any scheme, compared with float, its cost on a target estimated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule

from ..exir.compile_spec import ArmCompileSpec
from ..quantize.corrections.catalogue import Corrections
from ..quantize.post_training import quantize_program
from ..quantize.probe.calls import Sample
from ..support.errors import UsageError
from .clock import Clock
from .compare import Comparison, compare
from .memory import Memory
from .scheme import Scheme
from .task_metric import Metric

#: Figures of a target that no scheme changes.
_NO_COSTS = {"clock_hz", "macs_per_cycle"}
#: Called with what is being done, the step and the number of steps.
Progress = Callable[[str, int, int], None]


class OutOfTime(Exception):
    """The time that something may take is over; a function of progress raises it."""


def silent(_what: str, _step: int, _steps: int) -> None:
    """No progress."""


@dataclass(frozen=True)
class Quantized:
    """A model under one scheme: calibrated, and converted."""

    scheme: Scheme
    prepared: GraphModule
    converted: GraphModule


class Model:
    """A float program, the data to calibrate with, the data to judge with, and a target.

    Args:
        metric: what judges outputs in place of the SQNR; see ``task_metric.Metric``.
    """

    def __init__(
        self,
        program: ExportedProgram,
        spec: ArmCompileSpec,
        calibration: Sequence[Sample],
        evaluation: Sequence[Sample],
        progress: Progress = silent,
        metric: Metric | None = None,
    ) -> None:
        if not calibration or not evaluation:
            raise UsageError("there is no sample to calibrate with" if not calibration else "no sample to judge with")
        self.program, self.spec = program, spec
        self.calibration, self.evaluation = calibration, evaluation
        self.progress = progress
        self.metric = metric
        #: What was measured before.
        self.memory = Memory()
        self.clock = Clock()
        #: The float outputs of the evaluation data, once they are known; kept for a metric, which is given them anyway.
        self._exact: list[list[Any]] | None = None if metric is None else []
        #: What is known of schemes by their texts: the comparison without operators and calls, and the cost.
        self._compared: dict[str, Comparison] = {}
        self._costs: dict[str, Mapping[str, float]] = {}
        #: How often it was quantized with all the data, and estimated: what a search is made of.
        self.quantized = self.estimated = 0

    @property
    def measure(self) -> str:
        """What ``figure`` is."""
        return "SQNR, dB" if self.metric is None else "metric"

    def quantize(self, scheme: Scheme) -> Quantized:
        """Calibrates and converts under a scheme."""
        self.quantized += 1
        total = len(self.calibration)
        made = quantize_program(
            self.program,
            scheme.quantizer(self.spec),
            self.calibration,
            progress=lambda done: self.progress("calibrating", done, total),
            compare=False,
        )
        return Quantized(scheme, made.prepared, made.converted)

    def compare(self, quantized: Quantized, *, operators: bool = True) -> Comparison:
        """Per output, and per operator if asked, on the evaluation data; the metric with it."""
        made = compare(
            quantized.prepared,
            quantized.converted,
            self.evaluation,
            operators=operators,
            metric=self.metric,
            known=None if operators else self._exact,
        )
        if not operators:
            self._compared[str(quantized.scheme)] = replace(made, calls=None)
        return made

    def compare_for_search(self, quantized: Quantized) -> Comparison:
        """What was found without a look at operators, and the operators as one sample shows them: their bits, no more.

        Errors of operators on all samples take longer than all else, and no search reads them.
        """
        scheme = str(quantized.scheme)
        whole = self._compared.get(scheme) or replace(self.compare(quantized, operators=False), calls=None)
        operators = compare(quantized.prepared, quantized.converted, self.evaluation[:1]).operators
        return replace(whole, operators=operators)

    def figure(self, comparison: Comparison) -> float:
        """What the search makes as large as it can: the metric, or the SQNR of the worst output, dB.

        Raises:
            UsageError: there is no metric and the model gives no real numbers.
        """
        if comparison.metric is not None:
            return comparison.metric
        if comparison.sqnr_db is None:
            raise UsageError(
                "the search compares real outputs, and the model gives integers only: give a model that returns "
                "the scores as well"
            )
        return comparison.sqnr_db

    def cost(self, quantized: Quantized) -> Mapping[str, float]:
        """What the target's compiler estimates of the delegates, added up: cycles, memory in KiB.

        Raises:
            UsageError: the target estimates nothing.
        """
        scheme = str(quantized.scheme)
        if scheme not in self._costs:
            self._costs[scheme] = self._cost(quantized.converted)
        return self._costs[scheme]

    def cost_of(self, quantized: Quantized, figure: str) -> float:
        """One figure of ``cost``.

        Raises:
            UsageError: the target does not estimate it, or it is no cost of the model.
        """
        costs = self.cost(quantized)
        if figure not in costs or figure in _NO_COSTS:
            known = ", ".join(sorted(costs.keys() - _NO_COSTS)) or "nothing is delegated to it"
            problem = "is the same for every scheme" if figure in costs else "is not what the target estimates"
            raise UsageError(f"--budget: {figure!r} {problem}; choose one of: {known}")
        return costs[figure]

    def quick_cost(self, scheme: Scheme) -> Mapping[str, float]:
        """``cost`` of a scheme by one sample of calibration data: scales are others, operators and types the same."""
        made = quantize_program(
            self.program,
            scheme.quantizer(self.spec),
            self.calibration[:1],
            corrections=Corrections(equalization=False, smoothing=False, rounding=False, bias_correction=False),
            compare=False,
        )
        return self._cost(made.converted)

    def _cost(self, converted: GraphModule) -> Mapping[str, float]:
        from ..exir.program_estimate import estimate_program

        self.estimated += 1
        args, kwargs = self.calibration[0]
        target = self.spec.target()
        program = torch.export.export(converted, args, dict(kwargs))
        with self.clock.waiting():
            figures = estimate_program(program, target)
        if figures is None:
            raise UsageError(
                f"target {target.name!r} estimates no cost, so that there is no budget to keep; if a tool that "
                "estimates is missing, `arm-tosa doctor` lists it"
            )
        return figures
