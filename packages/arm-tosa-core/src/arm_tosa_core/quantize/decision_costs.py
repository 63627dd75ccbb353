"""What the decisions of quantization cost in cycles: the target's estimate with them, less that without them."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.export import ExportedProgram

from ..exir.program_estimate import estimate_program
from ..plugin.target import Target
from .annotate.wide_results import STATE
from .corrections.catalogue import CORRECTIONS, Corrections
from .decisions import OWN_SCALE, WIDE_RESULT, Decision
from .post_training import quantize_program
from .probe.calls import SAMPLES, Sample, as_call
from .probe.states import States
from .quantizer import TOSAQuantizer

_FREE = {correction.kind for correction in CORRECTIONS if correction.is_free}


@dataclass(frozen=True)
class DecisionCost:
    """What all decisions of one kind, made for one reason, cost together.

    Args:
        kind, why: as ``Decision`` has them.
        operators: how many decisions these are.
        cycles: that the target's compiler estimates for one inference, beyond those without these decisions; below 0
            if they save cycles. None: not known.
    """

    kind: str
    why: str
    operators: int
    cycles: float | None


def decision_costs(
    program: ExportedProgram,
    quantizer: TOSAQuantizer,
    samples: Iterable[Sample | Sequence[Any] | torch.Tensor],
    decisions: Sequence[Decision],
    *,
    states: States | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[DecisionCost]:
    """The cost of what quantization decided, by kind and reason.

    The program is quantized and estimated once more as it is, and then once without each reason. What follows from a
    reason is left out with it, such as operands that have 16 bits because they are added to a sum that has. So costs of
    two reasons need not add up. Equalization, rounding and bias correction change constants only, and cost 0. What
    cannot be left out is not known: states, and everything if the quantizer has no compile spec, or its target no
    estimate.

    Args:
        program, quantizer, samples, states: as ``quantize_program`` was given them.
        decisions: the ``report`` of what it returned.
        progress: called after each estimate with their number so far, and how many there will be.
    """
    counts = Counter((row.kind, row.why) for row in decisions)
    costs: dict[tuple[str, str], float | None] = {key: 0.0 if key[0] in _FREE else None for key in counts}
    asked = [key for key in counts if key[0] == OWN_SCALE or (key[0] == WIDE_RESULT and key[1] != STATE)]
    target = None if quantizer.compile_spec is None else quantizer.compile_spec.target()
    if asked and target is not None and target.report.estimate is not None:
        # Decisions look at the first samples alone, but states are rolled over all of them.
        calls = [as_call(*row) for row in enumerate(samples if states else islice(samples, SAMPLES))]

        def cycles(without: tuple[str, str] | None) -> float | None:
            left = [without[1]] if without is not None and without[0] == WIDE_RESULT else []
            return _cycles(
                program,
                copy.copy(quantizer).set_left_narrow(left),
                calls,
                target,
                rescaling=without is None or without[0] != OWN_SCALE,
                states=states,
            )

        base = cycles(None)
        for done, key in enumerate(asked, 1):
            progress(done, len(asked) + 1)
            other = cycles(key)
            costs[key] = None if base is None or other is None else base - other
        progress(len(asked) + 1, len(asked) + 1)
    return [DecisionCost(*key, counts[key], costs[key]) for key in counts]


def _cycles(
    program: ExportedProgram,
    quantizer: TOSAQuantizer,
    calls: Sequence[Sample],
    target: Target,
    *,
    rescaling: bool,
    states: States | None,
) -> float | None:
    """Estimated cycles of an inference; None if the target predicts none, or has no part of the program."""
    corrections = Corrections(rounding=False, bias_correction=False, rescaling=rescaling)
    quantized = quantize_program(program, quantizer, calls, corrections=corrections, states=states, compare=False)
    args, kwargs = program.example_inputs or calls[0]  # of the size that is compiled
    figures = estimate_program(torch.export.export(quantized.converted, args, dict(kwargs)), target)
    return None if figures is None else figures.get("cycles")
