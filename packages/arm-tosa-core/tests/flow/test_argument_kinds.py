"""What is no program, or no group of options, is refused with what to give in its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from executorch.exir import to_edge

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


def test_a_program_of_another_stage() -> None:
    edge, quantized = to_edge(PROGRAM).exported_program(), quantize_program(PROGRAM, QUANTIZER, [INPUTS]).converted
    for call in (lambda: lower(edge, "tosa"), lambda: quantize_program(edge, QUANTIZER, [INPUTS])):
        with pytest.raises(UsageError, match="takes a program of torch.export, not one of to_edge"):
            call()
    with pytest.raises(UsageError, match="the program is quantized"):
        quantize_program(torch.export.export(quantized, INPUTS), QUANTIZER, [INPUTS])


@pytest.mark.parametrize("switch", ["integer_io", "cache"])
def test_no_switch(switch: str) -> None:
    options: Any = {switch: "no"}
    with pytest.raises(UsageError, match=f"{switch} takes True or False, not 'no'"):
        lower(PROGRAM, "tosa", **options)


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


@pytest.mark.parametrize(
    ("samples", "error"),
    [
        (3, r"samples are calls of the model, such as \[inputs\], not 3"),
        ([(np.ones((1, 4), np.float32),)], "takes a tensor of float32 on cpu, not a ndarray"),
        ([(torch.ones(1, 4).double(),)], "takes a tensor of float32 on cpu, not a tensor of float64 on cpu"),
        ([(torch.ones(1, 4).int(),)], "not a tensor of integers on cpu"),
        ([(torch.ones(1, 4).to("meta"),)], "not a tensor of float32 on meta"),
        ([(torch.ones(4),)], r"takes \[1, 4\], not \[4\]"),
        ([(torch.ones(1, 4),), (torch.ones(1, 5),)], r"takes \[1, 4\], not \[1, 5\]"),
        ([(torch.ones(1, 4).to_sparse(),)], "not a tensor of float32 on cpu, torch.sparse_coo"),
    ],
)
def test_no_samples(samples: Any, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        quantize_program(PROGRAM, QUANTIZER, samples)


@pytest.mark.parametrize("states", [["x"], "x", 3])
def test_no_states(states: Any) -> None:
    with pytest.raises(UsageError, match="states is a dictionary from the names of inputs to outputs, not "):
        quantize_program(PROGRAM, QUANTIZER, [INPUTS], states=states)


@pytest.mark.parametrize("progress", [None, 3])
def test_no_progress(progress: Any) -> None:
    for call in (
        lambda: lower(PROGRAM, "tosa", progress=progress),
        lambda: quantize_program(PROGRAM, QUANTIZER, [INPUTS], progress=progress),
    ):
        with pytest.raises(UsageError, match="progress takes a function, not "):
            call()


SPEC = TosaCompileSpec("TOSA-1.0+INT")


@pytest.mark.parametrize("remainder", [SPEC, 3, None, ["vgf"], [None], {"a": SPEC}, [TosaCompileSpec]])
def test_no_remainder(remainder: Any) -> None:
    with pytest.raises(UsageError, match="remainder is a list of compile specs and ExecuTorch partitioners, not "):
        lower(PROGRAM, "tosa", remainder=remainder)


@pytest.mark.parametrize("name", [1, "", "a/b", "two words"])
def test_no_name_of_a_method(name: Any) -> None:
    with pytest.raises(UsageError, match="a method has a name as in Python, such as 'forward', not "):
        lower({name: PROGRAM}, "tosa")
