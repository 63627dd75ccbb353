"""What is no program, or no group of options, is refused with what to give in its place."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.exir.compile_spec import TosaCompileSpec
from arm_tosa_core.support.errors import UsageError

INPUTS = (torch.ones(1, 4),)
MODEL = torch.nn.Linear(4, 4).eval()
PROGRAM = torch.export.export(MODEL, INPUTS)
QUANTIZER = TOSAQuantizer(TosaCompileSpec("TOSA-1.0+INT")).set_global(get_symmetric_quantization_config())
EXPORT = r"torch\.export\.export\(model"


@pytest.mark.parametrize(
    ("program", "advice"),
    [
        (MODEL, EXPORT),
        (PROGRAM.module(), EXPORT),
        ("net.pt2", r"torch\.export\.load\(path\)"),
        ({"forward": MODEL}, EXPORT),
    ],
)
def test_no_program(program: Any, advice: str) -> None:
    for call in (lambda: lower(program, "tosa"), lambda: quantize_program(program, QUANTIZER, [INPUTS])):
        with pytest.raises(UsageError, match="takes a program of torch.export"):
            call()
    with pytest.raises(UsageError, match=advice):
        lower(program, "tosa")


def test_a_quantized_model_is_exported_again() -> None:
    quantized: Any = quantize_program(PROGRAM, QUANTIZER, [INPUTS])
    with pytest.raises(UsageError, match=r"torch\.export\.export\(quantized\.converted, inputs\)"):
        lower(quantized, "tosa")


@pytest.mark.parametrize("options", [{}, {"etrecord": "a"}, 3])
def test_no_options(options: Any) -> None:
    with pytest.raises(UsageError, match=r"executorch takes ExecuTorchOptions\(\.\.\.\), not "):
        lower(PROGRAM, "tosa", executorch=options)
    with pytest.raises(UsageError, match=r"corrections takes Corrections\(\.\.\.\), not "):
        quantize_program(PROGRAM, QUANTIZER, [INPUTS], corrections=options)


def test_no_samples() -> None:
    samples: Any = 3
    with pytest.raises(UsageError, match=r"samples are calls of the model, such as \[inputs\], not 3"):
        quantize_program(PROGRAM, QUANTIZER, samples)
