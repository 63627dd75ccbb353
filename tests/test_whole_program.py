# Copyright (c) Meta Platforms, Inc. and affiliates.
# All rights reserved.
#
# This source code is licensed under the BSD-style license found in the
# LICENSE file in the root directory of this source tree.
"""A whole program, its part on the CPU too, is run beside PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from arm_tosa_core import lower
from arm_tosa_core.flow.whole_program import _difference
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.case import Apply


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_outputs_that_differ_are_named() -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    given = (torch.randn(2, 5),)
    program = torch.export.export(Apply(lambda x: (x * 2, (x + 1).fmod(0.7), x.argmax(1))), given)
    other = torch.export.export(Apply(lambda x: (x * 2, (x + 1).fmod(0.6), x.argmin(1))), given)
    lowered = lower(program, "vgf")
    assert lowered.differences(program) == []
    assert [found.output for found in lowered.differences(other, [torch.arange(10.0).reshape(2, 5)])] == [1, 2]
    with pytest.raises(UsageError, match="does not run"):
        replace(lowered, buffer=lowered.buffer[: len(lowered.buffer) // 2]).differences(program)


@pytest.mark.parametrize("least_db", [15.0, 30.0, 60.0])
def test_nothing_but_nan_differs(least_db: float) -> None:
    wanted = torch.tensor([0.0, 1.0, float("nan"), float("inf")])
    assert "elsewhere" in _difference(torch.full((4,), float("nan")), wanted, least_db)
    assert _difference(wanted.clone(), wanted, least_db) == ""


@pytest.mark.parametrize("least_db", [15.0, 30.0, 60.0])
@pytest.mark.parametrize(("result", "wanted"), [(3, 2), (float("nan"), 1.0), (1.0, float("inf")), (True, False)])
def test_the_only_number_of_an_output_is_compared(result: float, wanted: float, least_db: float) -> None:
    assert _difference(torch.tensor([result]), torch.tensor([wanted]), least_db)
    assert _difference(torch.tensor([result] + [wanted] * 9), torch.tensor([wanted] * 10), 15.0) == ""
