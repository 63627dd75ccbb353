"""A program that executorch.backends.arm made runs on our delegate, as the TOSA reference model computes its graph."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.tosa import reference_model as reference

# In a process of its own: its backend classes have the names of ours.
_RIVAL = """
import sys
import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

target, folder = sys.argv[1:]
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, padding=1, groups=8),
    torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(128, 24),
).eval()
inputs = (torch.randn(1, 3, 8, 8),)
spec = EthosUCompileSpec(target).dump_intermediate_artifacts_to(folder)
quantizer = EthosUQuantizer(spec)
quantizer.set_global(get_symmetric_quantization_config())
prepared = prepare_pt2e(torch.export.export(net, inputs).module(check_guards=False), quantizer)
for _ in range(4):
    prepared(torch.randn(1, 3, 8, 8))
program = torch.export.export(convert_pt2e(prepared), inputs)
edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)])
with open(folder + "/model.pte", "wb") as file:
    edge.to_executorch().write_to_file(file)
"""


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_a_stock_program_runs(target: str, tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401
    import torch
    from executorch.runtime import Runtime

    from arm_runtime import ethosu

    made = subprocess.run(
        [sys.executable, "-c", _RIVAL, target, str(tmp_path)], capture_output=True, text=True, timeout=600, check=False
    )
    assert made.returncode == 0, made.stderr[-3000:]
    (delegate,) = delegates((tmp_path / "model.pte").read_bytes())
    x = np.random.default_rng(0).integers(-128, 128, (1, 3, 8, 8)).astype(np.int8)
    (result,) = ethosu.run(delegate.payload, [x])
    (expected,) = reference.run((tmp_path / "out.tosa").read_bytes(), [x])
    np.testing.assert_array_equal(result, expected.reshape(-1))
    assert len(np.unique(expected)) > 10
    method = Runtime.get().load_program(tmp_path / "model.pte").load_method("forward")
    (output,) = method.execute([torch.randn(1, 3, 8, 8)])
    assert output.shape == (1, 24) and output.unique().numel() > 5
