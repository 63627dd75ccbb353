"""Programs for targets without a delegate in C++, in ExecuTorch's Python runtime."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from arm_tosa_core import lower
from arm_tosa_core.cli.run_pte import run_pte
from arm_tosa_core.exir.compile_spec import ArmCompileSpec, TargetCompileSpec
from arm_tosa_core.exir.pte import delegates, read
from arm_tosa_core.exir.pte_runtime import load_method, load_program
from arm_tosa_core.flow.whole_program import differences
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported


class Apart(torch.nn.Module):
    """Two parts, between which an operator stays on the CPU; a result that is an input, and one of booleans."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 6)
        self.last = torch.nn.Linear(6, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        near = torch.relu(self.first(x))
        between = near + torch.cdist(near, near)[:, :1]
        made = torch.tanh(self.last(between))
        return made, y, made > 0


def spec_of(target: str) -> ArmCompileSpec:
    return TargetCompileSpec(target)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55", "tosa-int"])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_program_runs_by_what_its_target_has(target: str, batch: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(batch, 8), torch.randn(2, 3)
    program = exported(Apart().eval(), inputs, spec_of(target), "int8")
    with warnings.catch_warnings(action="ignore"):
        pte = lower(program, spec_of(target)).buffer
    assert len(delegates(pte)) == 2
    assert differences(pte, program) == []
    (tmp_path / "apart.pte").write_bytes(pte)
    results, _ = run_pte(tmp_path / "apart.pte", [x.numpy() for x in inputs])
    for result, wanted in zip(results, program.module()(*inputs), strict=True):
        np.testing.assert_allclose(result, wanted.numpy(), atol=0.02)


def test_programs_of_one_target_run_in_one_process() -> None:
    spec = spec_of("cortex-m33")
    for size in (4, 7):
        program = exported(torch.nn.Linear(size, 3), (torch.randn(2, size),), spec, "int8")
        loaded = load_program(read(lower(program, spec).buffer), "linear")
        (result,) = load_method(loaded, "forward", "linear").execute(program.example_inputs[0])
        torch.testing.assert_close(result, program.module()(*program.example_inputs[0]), atol=0.02, rtol=0)


def test_a_run_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, where no C compiler is found."""
    program = exported(torch.nn.Linear(8, 6), (torch.randn(1, 8),), spec_of("cortex-m7"), "int8")
    (tmp_path / "linear.pte").write_bytes(lower(program, spec_of("cortex-m7")).buffer)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"(?s)running .*linear.pte failed.*cc is not installed") as caught:
        run_pte(tmp_path / "linear.pte", [np.zeros((1, 8), np.float32)])
    assert "build-essential" in str(caught.value)


def test_a_name_is_taken_once() -> None:
    from arm_runtime import host

    def run(payload: object, buffers: object) -> None:
        pass

    host.register("TakenOnce", run)
    with pytest.raises(ValueError, match="'TakenOnce'"):
        host.register("TakenOnce", run)
    with pytest.raises(ValueError, match="'EthosUBackend'"):
        host.register("EthosUBackend", run)
