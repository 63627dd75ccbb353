"""``Quantized.report``: what quantization decided, for which operator, and why."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from arm_tosa_core import (
    Corrections,
    TosaCompileSpec,
    TOSAQuantizer,
    get_symmetric_quantization_config,
    quantize_program,
)
from arm_tosa_core.quantize.annotate.wide_results import STREAM
from arm_tosa_core.quantize.decisions import CORRECTED, EQUALIZED, WIDE_RESULT, summary
from arm_tosa_core.quantize.post_training import Quantized

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations


class Uneven(nn.Module):
    """Two layers whose channels between them differ a hundredfold, and a stream of sums."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.third = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 3, 1), nn.Conv2d(3, 3, 1)
        with torch.no_grad():
            self.first.weight *= torch.logspace(-1, 1, 8).reshape(8, 1, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        stream = x + self.second(torch.relu(self.first(x)))
        return stream + self.third(x)


def quantized(**options: bool) -> Quantized:
    quantizer = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT+int16").tosa_spec)
    quantizer.set_global(get_symmetric_quantization_config())
    samples = [torch.randn(1, 3, 6, 6, generator=torch.Generator().manual_seed(seed)) for seed in range(4)]
    return quantize_program(torch.export.export(Uneven().eval(), (samples[0],)), quantizer, samples, **options)


def test_each_decision_names_operator_line_and_reason() -> None:
    rows = quantized().report
    by_kind = {kind: [row.node for row in rows if row.kind == kind] for kind in (WIDE_RESULT, EQUALIZED, CORRECTED)}
    assert len(by_kind[EQUALIZED]) == 1 and len(by_kind[CORRECTED]) == 3
    assert "add" in by_kind[WIDE_RESULT]
    wide = [row for row in rows if row.kind == WIDE_RESULT]
    assert all(row.why and "test_decisions.py" in row.source for row in wide)
    assert STREAM in {row.why for row in wide}


def test_what_is_off_is_not_reported() -> None:
    rows = quantized(corrections=Corrections(equalization=False, rounding=False, bias_correction=False)).report
    assert {row.kind for row in rows} == {WIDE_RESULT}


def test_the_summary_counts() -> None:
    text = summary(quantized().report)
    assert f"1 {EQUALIZED}" in text and f"3 {CORRECTED}" in text and STREAM in text
    assert summary([]) == ""
