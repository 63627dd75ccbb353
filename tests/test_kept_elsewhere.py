"""What ``quantize_to_keep`` returns is a PT2E program: XNNPACK delegates all of it too."""

from __future__ import annotations

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch.export import ExportedProgram

from arm_tosa_core import Kept, quantize_to_keep
from arm_tosa_core.exir.pte import delegates

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


def _net() -> ExportedProgram:
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.Flatten()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(128, 10))
    return torch.export.export(net.eval(), (torch.randn(1, 3, 8, 8),))


def _kept(keep: float) -> Kept:
    calls = [torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(i)) for i in range(24)]
    return quantize_to_keep(_net(), "ethos-u55-128", calls[:16], calls[16:], keep=keep)


def test_xnnpack_delegates_it() -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    kept = _kept(0.99)
    assert kept.is_kept and kept.chosen.step == "int8"
    pte = bytes(to_edge_transform_and_lower(kept.program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)
    assert {delegate.backend_id for delegate in delegates(pte)} == {"XnnpackBackend"}
    x = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(99))
    (result,) = Runtime.get().load_program(pte).load_method("forward").execute([x])
    expected = kept.program.module()(x)
    torch.testing.assert_close(result, expected, rtol=0, atol=float(expected.abs().max()) / 50)  # a few steps of 8 bits
