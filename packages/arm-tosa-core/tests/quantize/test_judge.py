"""The judge of changes: the mean gain against its standard error."""

from __future__ import annotations

import pytest
import torch

from arm_tosa_core.quantize.probe.judge import accepts, evidence


@pytest.mark.parametrize(
    ("before", "after", "part", "accepted"),
    [
        ([2.0], [1.0], 1.0, True),  # of one observation there is no error
        ([1.0], [1.0], 1.0, False),
        ([2.0], [1.5], 0.5, False),  # it costs more than it gains
        ([2.0, 2.0], [1.0, 1.0], 1.0, True),
        ([2.0, 2.0], [1.0, 2.1], 1.0, False),  # of two both must gain
        ([2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 2.1], 1.0, True),
        ([2.0, 2.0, 2.0, 9.0], [2.0, 2.0, 2.0, 1.0], 1.0, False),  # one alone says so
        ([float("nan"), 2.0], [1.0, 1.0], 1.0, False),
        ([float("inf"), 2.0], [1.0, 1.0], 1.0, False),
    ],
)
def test_a_change_gains_by_more_than_chance(
    before: list[float], after: list[float], part: float, accepted: bool
) -> None:
    assert bool(accepts(torch.tensor(before), torch.tensor(after), part)) == accepted


def test_changes_are_judged_each_by_itself() -> None:
    before, after = torch.tensor([[2.0, 2.0], [2.0, 2.0]]), torch.tensor([[1.0, 1.0], [1.0, 3.0]])
    assert accepts(before, after).tolist() == [True, False]


def test_evidence_has_means_and_the_error_of_their_difference() -> None:
    found = evidence(torch.tensor([3.0, 5.0]), torch.tensor([1.0, 1.0]))
    assert (found.before, found.after, found.error, found.observations) == (4.0, 1.0, 1.0, 2)
    assert evidence(torch.tensor([3.0]), torch.tensor([1.0])).error is None
