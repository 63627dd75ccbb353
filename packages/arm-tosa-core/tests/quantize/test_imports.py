"""What a user sees of the messages of PyTorch and torchao: nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

IMPORTED = "import logging; from arm_tosa_core import TOSAQuantizer; assert logging.root.manager.disable == 0"
QUANTIZED = """
import torch
from arm_tosa_core import TosaCompileSpec, TOSAQuantizer, get_symmetric_quantization_config, lower, quantize_program

torch.manual_seed(0)
model, x = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval(), (torch.rand(1, 4),)
quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
quantized = quantize_program(torch.export.export(model, x), quantizer, [x]).converted
lower(torch.export.export(quantized, x), "tosa-int")
"""


@pytest.mark.parametrize("code", [IMPORTED, QUANTIZED], ids=["imported", "quantized"])
def test_quantizing_prints_nothing(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
