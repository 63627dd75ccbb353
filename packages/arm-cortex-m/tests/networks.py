"""What the tests deploy: a convolutional network, and what firmware is made of it."""

from __future__ import annotations

from functools import cache

import torch

from arm_cortex_m.firmware import FIRMWARE
from arm_tosa_core.cli.deploy import deployable
from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.plugin.firmware import Program
from arm_tosa_core.testing.harness import exported


class Net(torch.nn.Module):
    """Dense and depthwise convolutions, a sum, pools, a linear layer and softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pointwise = torch.nn.Conv2d(8, 12, 1)
        self.up = torch.nn.ConvTranspose2d(12, 4, 2, stride=2)
        self.last = torch.nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        y = torch.nn.functional.relu6(self.depthwise(y)) + y
        y = torch.nn.functional.max_pool2d(torch.relu(self.pointwise(y)), 2)
        y = torch.nn.functional.avg_pool2d(self.up(y), 3, 2, 1)
        return torch.softmax(self.last(y.mean((2, 3))), -1)


@cache
def program(target: str = "cortex-m55", scheme: str = "int8") -> Program:
    torch.manual_seed(0)
    spec = TargetCompileSpec(target)
    return deployable(exported(Net().eval(), (torch.randn(1, 3, 16, 16),), spec, scheme), spec, FIRMWARE)
