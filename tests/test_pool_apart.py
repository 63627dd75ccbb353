"""A padded pool behind a convolution, as ResNet begins: apart from it where the estimate of Ethos-U is lower so."""

from __future__ import annotations

import pytest
import torch

from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config, quantize_program
from arm_tosa_core.testing.harness import Execution

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


def test_the_padding_comes_before_the_pool() -> None:
    """On Ethos-U65 with its image in DRAM; the functional model gives the bits of the TOSA reference model."""
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 7, stride=2, padding=3), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, padding=1)
    ).eval()
    x = (torch.randn(1, 3, 224, 224),)
    spec = EthosUCompileSpec("ethos-u65-512")
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
    quantized = quantize_program(torch.export.export(net, x), quantizer, [x]).converted
    execution = Execution(torch.export.export(quantized, x), spec.target())
    (region,) = execution.regions
    (pool,) = (op for op in region.graph.ops if op.name == "MAX_POOL2D" and op.attrs["kernel"] == (3, 3))
    assert pool.attrs["pad"] == (0, 0, 0, 0)
    assert pool.inputs[0].producer is not None and pool.inputs[0].producer.name == "PAD"
    execution.run(x)  # compares with the reference model
