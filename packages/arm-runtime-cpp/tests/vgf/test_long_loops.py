"""Loops of more rounds than Mesa's llvmpipe gives a thread: it leaves them without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from arm_tosa_core.testing.harness import Execution, exported
from arm_vgf import VgfCompileSpec


class _Sum(torch.nn.Module):
    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(self.axis, keepdim=True)


NETWORKS = {
    "average of three channels": (torch.nn.AdaptiveAvgPool2d(1), (1, 3, 128, 128)),
    "average of a megapixel": (torch.nn.AdaptiveAvgPool2d(1), (1, 3, 1024, 1024)),
    "sum along the last axis": (_Sum(-1), (3, 100_001)),
    "sum along another axis": (_Sum(1), (1, 100_000, 3)),
    "linear": (torch.nn.Linear(300_000, 3, bias=False), (1, 300_000)),
}


@pytest.mark.parametrize(("module", "shape"), NETWORKS.values(), ids=NETWORKS)
def test_every_round_counts(module: torch.nn.Module, shape: tuple[int, ...], vgf: Any) -> None:
    x, spec = torch.rand(shape, generator=torch.Generator().manual_seed(0)), VgfCompileSpec()
    if isinstance(module, torch.nn.Linear):
        torch.nn.init.constant_(module.weight, 1e-5)
    execution = Execution(exported(module.eval(), (x,), spec, "fp32"), spec.target())
    (data,) = execution.payloads
    with torch.no_grad(), vgf.Session(data, engine="compute") as session:
        (result,) = session.run([x.numpy()])
        np.testing.assert_allclose(result.reshape(-1), module(x).numpy().reshape(-1), rtol=1e-4)
