"""Buffers that a program writes start with the numbers that they have in PyTorch, in both flows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from executorch.exir import to_edge_transform_and_lower

from arm_tosa_core import TOSAPartitioner, lower
from arm_tosa_core.flow.lowered import compile_spec_of


class Counting(torch.nn.Module):
    """Buffers that are saved or not, of floats and integers; one starts at 0, and one is only read."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.full((1,), 2.0))
        self.register_buffer("calls", torch.tensor([5]), persistent=False)
        self.register_buffer("zeros", torch.zeros(3))
        self.register_buffer("read", torch.full((3,), 0.5))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.total.add_(1)
        self.calls.add_(1)
        self.zeros.add_(x)
        return x * self.total + self.zeros * self.read, self.calls + 1


@pytest.mark.parametrize("flow", ["fast", "ordinary"])
def test_buffers_start_as_in_pytorch(flow: str) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401
    from executorch.runtime import Runtime

    x, spec = torch.ones(3), compile_spec_of("vgf")
    program = torch.export.export(Counting(), (x,))
    if flow == "fast":
        buffer = lower(program, spec).buffer
    else:
        edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
        buffer = bytes(edge.to_executorch().buffer)
    method, eager = Runtime.get().load_program(buffer).load_method("forward"), Counting()
    for _ in range(2):
        for got, wanted in zip(method.execute([x]), eager(x), strict=True):
            torch.testing.assert_close(got, wanted)


def test_who_runs_a_program_leaves_its_buffers(tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from arm_tosa_core.accuracy.compare import compare
    from arm_tosa_core.cli.calibration import bundled_cases

    program = torch.export.export(Counting(), (torch.ones(3),))
    np.savez(tmp_path / "x.npz", x=np.arange(6, dtype=np.float32).reshape(2, 3))
    before = {name: value.clone() for name, value in {**program.state_dict, **program.constants}.items()}
    cases = bundled_cases(tmp_path / "x.npz", program)
    assert [int(outputs[1]) for _, outputs in cases] == [7, 8]
    compare(program.module(), program.module(), [((torch.ones(3),), {})])
    assert lower(program, "vgf").differences(program) == []
    for name, value in {**program.state_dict, **program.constants}.items():
        torch.testing.assert_close(value, before[name])
