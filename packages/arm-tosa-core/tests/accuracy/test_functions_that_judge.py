"""Functions of users that judge outputs: what they may return, change and fail at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from arm_tosa_core import Minutes, Recipe, TosaCompileSpec, UsageError, quantize_by_recipe, quantize_to_keep
from arm_tosa_core.accuracy.compare import Comparison
from arm_tosa_core.accuracy.task_metric import Calls
from arm_tosa_core.accuracy.verdict import judged

COUNT = 40


def _calls() -> Calls:
    exact = [torch.full((1, 3), 2.0) for _ in range(COUNT)]
    return Calls(
        exact, [(0.999 + 0.0005 * (i % 2)) * each for i, each in enumerate(exact)], [(torch.ones(2),) for _ in exact]
    )


def _sums(noisy: Any) -> list[float]:
    return [float(each.sum()) for each in noisy]


def _changes_all(exact: Any, noisy: Any, samples: Any) -> float:
    found = float(np.mean(_sums(noisy)))
    for each in (*exact, *noisy, *(sample[0] for sample in samples)):
        each.zero_()
    return found


def _needs_all(_exact: Any, noisy: Any, _samples: Any) -> float:
    if len(noisy) < COUNT:
        raise ValueError("only one class is there")
    return float(np.mean(_sums(noisy)))


def _is_nan_of_few(_exact: Any, noisy: Any, _samples: Any) -> float:
    return float(np.mean(_sums(noisy))) if len(noisy) == COUNT else float("nan")


@pytest.mark.parametrize(
    ("metric", "is_sure"),
    [
        (lambda exact, noisy, samples: _sums(noisy), True),
        (lambda exact, noisy, samples: tuple(_sums(noisy)), True),
        (lambda exact, noisy, samples: torch.tensor(_sums(noisy)), True),
        (lambda exact, noisy, samples: np.array(_sums(noisy)), True),
        (lambda exact, noisy, samples: np.float32(np.mean(_sums(noisy))), True),
        (lambda exact, noisy, samples: np.array(np.mean(_sums(noisy))), True),
        (lambda exact, noisy, samples: torch.tensor(_sums(noisy)).mean(), True),
        (_changes_all, True),
        (_needs_all, False),
        (_is_nan_of_few, False),
    ],
)
def test_a_figure_is_that_of_the_samples_whatever_the_function_is_like(
    metric: Callable[..., Any], is_sure: bool
) -> None:
    verdict = judged(Comparison([], [], COUNT, (), calls=_calls()), metric, 0.99)
    assert (verdict.value, verdict.float_value) == (pytest.approx(5.9955), pytest.approx(6))
    assert verdict.is_kept and verdict.is_sure == is_sure and (verdict.confidence is None) != is_sure


class Inverse(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.inv(x)


def test_a_model_without_anything_to_quantize_is_refused() -> None:
    spec = TosaCompileSpec("TOSA-1.0+INT+int16")
    samples = [torch.eye(3) + 0.1 * torch.rand(3, 3) for _ in range(4)]
    program = torch.export.export(Inverse(), (samples[0],))
    with pytest.raises(UsageError, match="no operator of the model is one that quantization has a rule for"):
        quantize_to_keep(program, spec, samples[:2], samples[2:], budget=Minutes(1))
    with pytest.raises(UsageError, match="no operator of the model is one that quantization has a rule for"):
        quantize_by_recipe(program, spec, samples, Recipe())
