"""ONNX files through the whole compiler: what runs on Ethos-U is what ONNX's own evaluator computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from onnx.reference import ReferenceEvaluator

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import load_model, lower
from onnx_files import quantized_network


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u85-256"])
def test_a_quantized_file_runs_with_its_own_scales(accelerator: str, kind: type[np.generic], tmp_path: Path) -> None:
    pytest.importorskip("arm_runtime", reason="needs the runtime: pip install packages/arm-runtime-cpp")
    import executorch.kernels.quantized  # noqa: F401  # quantize and dequantize at the program's edges
    from executorch.runtime import Runtime

    proto = quantized_network(kind)
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    lowered = lower(load_model(tmp_path / "net.onnx"), EthosUCompileSpec(accelerator))
    assert lowered.figures.on_cpu == 0
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    judge, found = ReferenceEvaluator(proto), set()
    for seed in range(5):
        x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
        scores, made = (output.clone() for output in method.execute([x]))
        wanted, _ = judge.run(None, {"x": x.numpy()})
        assert np.abs(scores.numpy() - wanted).max() <= 0.151  # a step
        torch.testing.assert_close(made, torch.softmax(scores, -1), rtol=0, atol=1.01 / 256)
        found.add(int(made.argmax()))
    assert len(found) > 1
