"""Graphs that the model converter writes are read without a refusal, under the sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from vgf_files import graph_vgf
from vgf_net import Net

from arm_tosa_core import (
    TOSAQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    lower,
)
from arm_tosa_core.tosa.ir import DType
from arm_vgf import VgfCompileSpec

QUANTIZED = {"int8": get_symmetric_quantization_config, "int16x8": get_symmetric_a16w8_quantization_config}
#: Operators that have several results, or that no network has: name, type, shape, operands, attributes.
OPERATORS = [
    ("FFT2D", DType.FP32, (1, 4, 8), 2, {"inverse": True}),
    ("RFFT2D", DType.FP32, (1, 4, 8), 1, {}),
    ("CONCAT", DType.INT8, (2, 3), 3, {"axis": 1}),
    ("CLAMP", DType.BF16, (4,), 1, {"min_val": -1.0, "max_val": 1.0}),
    ("ARGMAX", DType.FP16, (5,), 1, {"axis": 0}),
    ("MAX_POOL2D", DType.INT16, (1, 4, 4, 3), 1, {"kernel": (2, 2), "stride": (2, 2)}),
    ("REDUCE_ANY", DType.BOOL, (2, 3), 1, {"axis": 1}),
    ("TRANSPOSE", DType.INT32, (2, 3, 4), 1, {"perms": (2, 0, 1)}),
]


@pytest.fixture(scope="module")
def read(extra_build: Callable[..., Path]) -> Callable[[Path], None]:
    program = extra_build("host-asan", "vgf_read_graphs") / "tests" / "vgf" / "vgf_read_graphs"

    def run(*files: Path) -> None:
        done = subprocess.run([program, *files], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0 and done.stdout.count(" operators\n") == len(files), (
            done.stdout + done.stderr[-3000:]
        )

    return run


@pytest.mark.parametrize(("name", "dtype", "shape", "operands", "attrs"), OPERATORS, ids=[row[0] for row in OPERATORS])
def test_operator(name, dtype, shape, operands, attrs, read, tmp_path) -> None:
    (tmp_path / "one.vgf").write_bytes(graph_vgf(name, dtype, *shape, operands=operands, **attrs))
    read(tmp_path / "one.vgf")


@pytest.mark.parametrize("kind", ["float32", "float16", "int8", "int16x8"])
def test_network(kind: str, read: Callable[..., None], tmp_path: Path) -> None:
    dtype = torch.float16 if kind == "float16" else torch.float32
    module, x = Net().eval().to(dtype), torch.randn(1, 3, 8, 8, dtype=dtype)
    spec = VgfCompileSpec().dump_intermediate_artifacts_to(tmp_path)
    program = torch.export.export(module, (x,))
    if kind in QUANTIZED:
        prepared = prepare_pt2e(program.module(), TOSAQuantizer(spec).set_global(QUANTIZED[kind]()))
        prepared(x)
        program = torch.export.export(convert_pt2e(prepared), (x,))
    lower(program, spec)
    read(*tmp_path.glob("delegate_*/*.vgf"))
