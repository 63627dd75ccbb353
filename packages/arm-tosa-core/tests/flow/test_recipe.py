"""``export_recipe`` with ExecuTorch's own ``export``."""

from __future__ import annotations

import pytest
import torch
from executorch.export import export

from arm_tosa_core import (
    QuantizationConfig,
    TosaCompileSpec,
    export_recipe,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from arm_tosa_core.exir.pte import delegates

pytestmark = pytest.mark.filterwarnings("ignore")  # ExecuTorch calls its recipes experimental


@pytest.mark.parametrize(
    ("spec", "config"),
    [
        ("TOSA-1.0+FP", None),
        ("TOSA-1.0+INT", get_symmetric_quantization_config()),
        ("TOSA-1.0+INT+int16", get_symmetric_a16w8_quantization_config()),
    ],
)
def test_one_delegate_holds_the_network(spec: str, config: QuantizationConfig | None) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).eval()
    session = export(model, [(torch.rand(1, 3, 8, 8),)], export_recipe(TosaCompileSpec(spec), config))
    (delegate,) = delegates(session.get_pte_buffer())
    assert b"CONV2D" in delegate.payload or b"TOSA" in delegate.payload
