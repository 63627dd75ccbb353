"""A task's own figure: top-1, or a function of the user's that judges outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..compat.torch import tree_leaves, tree_map_only
from ..support.errors import UsageError

#: ``metric(float_outputs, quantized_outputs, samples)``: a number, higher is better, or a list with one for each
#: sample, whose mean is the figure. Each argument is a list with one element per sample: what the float model returns,
#: what the quantized model returns, and the tuple of the model's inputs.
Metric = Callable[[Sequence[Any], Sequence[Any], Sequence[tuple[Any, ...]]], Any]


#: So many characters of a label that is none are shown.
_SHOWN = 40


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
        return _mean(self.numbers(metric))

    def score_of_float(self, metric: Metric) -> float:
        """The float model's figure: it is asked with the float outputs in both places."""
        return _mean(self.exactly().numbers(metric))

    def exactly(self) -> Calls:
        """The same calls of the float model beside itself."""
        return Calls(self.exact, self.exact, self.inputs)

    def without(self, part: Sequence[int]) -> Calls:
        """The calls that are not in a part of them."""
        kept = sorted({*range(len(self.inputs))}.difference(part))
        return Calls(*([rows[i] for i in kept] for rows in (self.exact, self.noisy, self.inputs)))

    def numbers(self, metric: Metric) -> list[float]:
        """What the function says: one number, or one for each sample; it is given copies, which it may change."""
        said = metric(*map(_copied, (self.exact, self.noisy, self.inputs)))
        if isinstance(said, torch.Tensor | np.ndarray):
            said = said.tolist()
        if not isinstance(said, (list, tuple)):
            return [_number(said)]
        if len(said) != len(self.inputs):
            raise UsageError(
                f"the metric returned {len(said)} numbers for {len(self.inputs)} samples: return one number, or a list "
                "with one for each sample"
            )
        return [_number(each) for each in said]


def _copied(rows: list[Any]) -> list[Any]:
    copies: list[Any] = tree_map_only(torch.Tensor, torch.Tensor.clone, rows)
    return copies


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def top1(labels: Sequence[Any] | None = None) -> Metric:
    """Judges classes: those of the largest score, or the integers that the model returns.

    Args:
        labels: of each sample the right class, one or as many as the batch has; None: those of the float model are
            right.
    """

    def judge(exact: Sequence[Any], noisy: Sequence[Any], _inputs: Sequence[Any]) -> list[float]:
        right = [_classes(each) for each in exact] if labels is None else list(map(read_label, labels))
        found = [_classes(each) for each in noisy]
        if len(right) != len(found):
            raise UsageError(f"there are {len(right)} labels for {len(found)} samples")
        for wanted, got in zip(right, found, strict=True):
            if wanted.shape != got.shape:
                raise UsageError(f"a sample has {len(wanted)} labels, and the model gives {len(got)} classes for it")
        if labels is not None:
            _require_classes(right, exact)
        return [float((a == b).double().mean()) for a, b in zip(right, found, strict=True)]

    return judge


def read_label(label: Any) -> torch.Tensor:
    """[batch].

    Raises:
        UsageError: it is no integer, and no integers.
    """
    try:
        classes = torch.as_tensor(label).flatten()
    except (TypeError, ValueError, RuntimeError):
        classes = None
    if classes is None or classes.is_floating_point() or classes.is_complex():
        raise UsageError(f"a label is the number of a class, from 0 on, not {str(label)[:_SHOWN]!r}")
    return classes


def _require_classes(labels: Sequence[torch.Tensor], outputs: Sequence[Any]) -> None:
    """Refuses labels that are no class of the model, which would be counted as wrong."""
    for number, (label, output) in enumerate(zip(labels, outputs, strict=True)):
        (scores,) = (leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor))
        count = scores.shape[-1] if scores.is_floating_point() else None
        for each in label.tolist():
            if each < 0 or (count is not None and each >= count):
                known = "from 0 on" if count is None else f"0 to {count - 1}"
                raise UsageError(f"the label of sample {number} is {each}, and the model's classes are {known}")


def _classes(output: Any) -> torch.Tensor:
    """[batch], of a model whose only output is [batch, classes] or [classes], or of integers [batch]."""
    tensors = [leaf for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor)]
    if len(tensors) == 1 and not tensors[0].is_floating_point() and tensors[0].dim() < 2:
        return tensors[0].flatten()
    if len(tensors) != 1 or tensors[0].dim() not in (1, 2) or tensors[0].shape[-1] < 2:
        shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors) or "none"
        raise UsageError(
            f"top1 is for a model with one output of shape [batch, classes], and its outputs are {shapes}: give a "
            "function of your own, file.py:function"
        )
    return tensors[0].argmax(-1).flatten()


def _number(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(
            f"the metric must return one number, or one for each sample, but returned {type(value).__name__}"
        ) from None
    if not math.isfinite(number):
        raise UsageError(f"the metric returned {number}: return a finite number, higher is better")
    return number
