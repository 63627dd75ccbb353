"""The accuracy of a float model kept: from plain int8 to what costs more, until the judge says that it is enough."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram

from ..compat.torch_sizes import dynamic_shapes
from ..exir.compile_spec import ArmCompileSpec
from ..flow.lowered import compile_spec_of
from ..lowering.exported_program import is_quantized
from ..quantize.probe.calls import Sample, as_call
from ..support.arguments import require_callable, require_program
from ..support.errors import UsageError
from ..tosa.specification import TosaSpecification
from .compare import OperatorError
from .model import Model, OutOfTime, Progress, silent
from .recipe import Recipe, digest_of, digest_of_sample
from .steps import STEPS
from .task_metric import Metric, read_label, top1
from .trials import Attempt, Trials

SQNR, TOP1 = "sqnr", "top1"
#: So many operators are named as those that limit a model.
_NAMED = 3


@dataclass(frozen=True)
class Minutes:
    """How long something may take: CPU time of one thread, and what it waits for the target's compiler (``Clock``)."""

    minutes: float

    def __post_init__(self) -> None:
        if not (self.minutes > 0 and math.isfinite(self.minutes)):
            raise UsageError(f"{self.minutes:g} minutes are no time to work in: give a number above 0")


@dataclass(frozen=True)
class Kept:
    """What ``quantize_to_keep`` found.

    Args:
        is_labelled: whether labels judged.
        is_kept: whether ``chosen`` keeps what was asked for, by the samples that judge.
        chosen: the first recipe that keeps it; if none does, the best one.
        attempts: all that were tried, in order.
        left_out: steps that were not taken, or not to their end, each with the reason.
        program: the quantized program, to be lowered or saved.
        recipe: repeats it without the search (``quantize_by_recipe``).
        limits: where nothing keeps it: the operators of ``chosen`` with the largest errors of their own.
    """

    is_labelled: bool
    is_kept: bool
    chosen: Attempt
    attempts: Sequence[Attempt]
    left_out: Mapping[str, str]
    program: ExportedProgram
    recipe: Recipe
    limits: Sequence[OperatorError]


def quantize_to_keep(
    model: ExportedProgram,
    target: str | TosaSpecification | ArmCompileSpec,
    calibration: Iterable[Any],
    evaluate: Iterable[Any],
    metric: str | Metric = SQNR,
    keep: float = 0.99,
    budget: Minutes = Minutes(20),
    *,
    labels: Iterable[Any] | None = None,
    identity: str | None = None,
    progress: Progress = silent,
    tried: Callable[[Attempt], None] = lambda attempt: None,
) -> Kept:
    """Quantizes a float program so that it keeps a part of its accuracy, at the least cost found.

    Takes the steps of ``steps.STEPS`` in order, and ends with the first that keeps it.

    Args:
        model: of ``torch.export``; it is left as it is.
        target: the name of an installed target, a TOSA specification, or a compile spec.
        calibration: calls of the model to learn from: tensors, lists or tuples of arguments, or tuples of arguments and
            keyword arguments. With one element more than the model has inputs, the last is a label, as of a
            ``DataLoader``.
        evaluate: others of the same forms, which judge.
        metric: ``sqnr``: what is kept of the power of the worst output; 0.99 is an SQNR of 20 dB. ``top1``: how many
            classes are right, by the labels, or without labels as in float. Or a function, see ``task_metric.Metric``.
        keep: the part of the float model's figure, above 0; of a negative one, which is an error, the error is at most
            1 / keep times as large.
        budget: no step begins or goes on behind it, int8 aside.
        labels: of the samples of ``evaluate``, for ``top1``; None: those in the samples.
        identity: names a metric that is a function: what was measured with it is kept in the cache under this name.
            None: of a function nothing is kept.
        progress: called with what is done, the step and the number of steps.
        tried: called with each attempt.

    Raises:
        UsageError: an unknown target, one without integers, a program that is quantized or has nothing to quantize, no
            samples, samples that are in both sets, labels without ``top1``, or a metric that does not fit the model.
    """
    require_program(model, "quantize_to_keep")
    spec = compile_spec_of(target)
    require_callable(progress, "progress")
    if not spec.tosa_spec.support_integer():
        raise UsageError(f"target {spec.target().name!r} takes {spec.tosa_spec}, which has no integers to quantize to")
    if is_quantized(model):
        raise UsageError("the program is quantized already: give the float one")
    learned, _ = calls_of(model, calibration, "calibration")
    judging, own = calls_of(model, evaluate, "evaluate")
    _require_apart(learned, judging)
    right = list(labels) if labels is not None else own
    if labels is not None and metric != TOP1:
        raise UsageError(f"labels are for the metric {TOP1}: a function of yours has its own")
    function, name = _metric(metric, right)
    if keep == 1 and function is None:
        raise UsageError(
            "no integers keep all of the SQNR: ask for a part below 1, such as 0.99, or for another metric"
        )
    if not 0 < keep <= 1:
        raise UsageError(f"keep is a part of the float model's figure, such as 0.99, not {keep:g}")
    if name is None and identity is not None:
        name = f"function {identity}"
    measured = Model(model, spec, learned, judging, progress, function)
    started = measured.clock.seconds()
    trials = Trials(measured, keep, name, tried)
    left_out: dict[str, str] = {}
    for step in STEPS:
        if why := step.refused(trials) if trials.attempts else None:
            left_out[step.name] = why
            continue
        trials.until(started + step.share * 60 * budget.minutes if trials.attempts else math.inf)
        try:
            if any(trials.try_(step.name, recipe).verdict.is_kept for recipe in step.apply(trials)):
                break
        except OutOfTime:
            left_out[step.name] = f"its part of the {budget.minutes:g} minutes was over"
    trials.until(math.inf)
    for name in trials.cut_short:
        left_out[f"the rest of {name}"] = f"its part of the {budget.minutes:g} minutes was over"
    return _finished(trials, left_out, metric == TOP1 and right is not None)


def _finished(trials: Trials, left_out: Mapping[str, str], is_labelled: bool) -> Kept:
    attempts, model = trials.attempts, trials.model
    last = attempts[-1]
    chosen = last if last.verdict.is_kept else max(attempts, key=lambda each: (each.verdict.value, -each.cycles))
    quantized = trials.quantized(chosen.recipe)
    limits: list[OperatorError] = []
    if not chosen.verdict.is_kept:
        rows = [row for row in model.compare(quantized).operators if row.own_sqnr_db is not None]
        limits = sorted(rows, key=lambda row: (row.own_sqnr_db, row.name))[:_NAMED]
    recipe = replace(chosen.recipe, target=model.spec.target().name, calibration=digest_of(model.calibration))
    exported = _exported(model.program, quantized.converted, model.calibration[0])
    return Kept(is_labelled, chosen.verdict.is_kept, chosen, attempts, left_out, exported, recipe, limits)


def quantize_by_recipe(
    model: ExportedProgram,
    target: str | TosaSpecification | ArmCompileSpec,
    calibration: Iterable[Any],
    recipe: Recipe,
    progress: Progress = silent,
) -> ExportedProgram:
    """The program that a recipe gives with the same calibration: that of ``quantize_to_keep`` again.

    Raises:
        UsageError: as of that, or the target has not the bits of the recipe.
    """
    require_program(model, "quantize_by_recipe")
    if is_quantized(model):
        raise UsageError("the program is quantized already: give the float one")
    learned, _ = calls_of(model, calibration, "calibration")
    made = Model(model, compile_spec_of(target), learned, learned, progress)
    return _exported(model, made.quantize(recipe.as_scheme()).converted, learned[0])


def _exported(program: ExportedProgram, converted: torch.nn.Module, sample: Sample) -> ExportedProgram:
    args, kwargs = program.example_inputs or sample
    made = torch.export.export(converted, args, dict(kwargs), dynamic_shapes=dynamic_shapes(program))
    if not is_quantized(made):
        raise UsageError(
            "no operator of the model is one that quantization has a rule for: it stays as it is, and there is nothing "
            "to write"
        )
    return made


def calls_of(program: ExportedProgram, samples: Iterable[Any], what: str) -> tuple[list[Sample], list[Any] | None]:
    """Calls of a model, and their labels if each has one.

    Args:
        what: names them in errors.

    Raises:
        UsageError: there is none, or something is none.
    """
    if not isinstance(samples, Iterable) or isinstance(samples, (str, torch.Tensor)):
        raise UsageError(f"{what} is a list of calls of the model, such as [inputs], not {type(samples).__name__}")
    inputs = len(program.graph_signature.user_inputs)
    calls: list[Sample] = []
    labels: list[Any] = []
    for number, sample in enumerate(samples):
        args, kwargs = as_call(number, sample, what)
        if not kwargs and len(args) == inputs + 1:
            args, label = args[:-1], args[-1]
            labels.append(label)
        calls.append((tuple(args), kwargs))
    if not calls:
        raise UsageError(f"{what} has no sample")
    if labels and len(labels) != len(calls):
        raise UsageError(f"{what}: {len(labels)} of {len(calls)} samples have a label; give one to each, or to none")
    return calls, labels or None


def _require_apart(learned: Sequence[Sample], judging: Sequence[Sample]) -> None:
    known = {digest_of_sample(sample) for sample in learned}
    shared = [i for i, sample in enumerate(judging) if digest_of_sample(sample) in known]
    if shared:
        raise UsageError(
            f"{len(shared)} of the {len(judging)} samples that judge are also in calibration, the first is number "
            f"{shared[0]}: what was learned from them must not judge; take them out of one of the two"
        )


def _metric(metric: str | Metric, labels: Sequence[Any] | None) -> tuple[Metric | None, str | None]:
    """The function, None for the SQNR; and a name for it and its labels, None if it has none."""
    if metric == TOP1:
        right = None if labels is None else [read_label(label) for label in labels]
        known = "" if right is None else hashlib.sha256(repr([each.tolist() for each in right]).encode()).hexdigest()
        return top1(right), f"{TOP1} {known}"
    if metric == SQNR:
        return None, SQNR
    if isinstance(metric, str):
        raise UsageError(f"unknown metric {metric!r}: it is {SQNR}, {TOP1}, or a function of yours")
    require_callable(metric, "metric")
    return metric, None
