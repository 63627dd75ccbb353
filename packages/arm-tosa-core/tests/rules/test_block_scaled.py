"""MXFP layers: eager, on the reference model, and refused with a reason."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from arm_tosa_core import MXFPOpConfig, TosaCompileSpec, UsageError, to_mxfp
from arm_tosa_core.quantize.schemes.mxfp import rounded_to_blocks
from arm_tosa_core.testing.harness import Execution, exported
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

FORMATS = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float4_e2m1fn_x2, "fp6_e2m3", "fp6_e3m2"]
#: Largest relative error that a layer of random numbers may have: half a step of the format, and what sums add.
NEAR = {torch.float8_e4m3fn: 0.08, torch.float8_e5m2: 0.2, torch.float4_e2m1fn_x2: 0.3}
ASYMMETRIC = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}

BLOCKS = [DType.FP4E2M1, DType.FP6E2M3, DType.FP6E3M2, DType.FP8E4M3, DType.FP8E5M2]

LAYERS = {
    "vector": (lambda: nn.Linear(64, 5), (64,)),
    "linear": (lambda: nn.Linear(64, 5), (2, 3, 64)),
    "no bias": (lambda: nn.Linear(32, 5, bias=False), (3, 32)),
    "convolution": (lambda: nn.Conv2d(64, 5, (3, 2), **ASYMMETRIC), (2, 64, 6, 7)),
    "point": (lambda: nn.Conv2d(32, 4, 1, bias=False), (1, 32, 4, 4)),
    "cropped": (lambda: nn.Conv2d(32, 4, 2, stride=3), (1, 32, 7, 7)),
}


def layer(make: Any, dtype: Any, of: torch.dtype = torch.float32) -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    model = nn.Sequential(make()).eval().to(of)
    mx = copy.deepcopy(model)
    to_mxfp(mx, MXFPOpConfig(weight_dtype=dtype))
    return model, mx


def operators(execution: Execution) -> list[str]:
    return [op.name for region in execution.regions for op in region.graph.ops]


@pytest.mark.parametrize("dtype", BLOCKS)
def test_blocks_are_rounded_as_the_reference_model_does(dtype: DType) -> None:
    torch.manual_seed(0)
    x = torch.randn(3000, 64)
    x[1000:2000, 0] = torch.exp2(torch.linspace(0, 8, 1000))  # largest magnitudes of every kind
    x[2000:] *= torch.exp2(torch.randint(-40, 40, (1000, 1)).float())
    x[0], x[1, :32] = 0, 0
    for row, tie in enumerate((7, 7.75, 30, 464, 61440), 2):  # halfway between the largest number and what is beyond
        x[row, 3] = tie
    graph = Graph()
    op = graph.append("CAST_TO_BLOCK_SCALED", [graph.input("x", tuple(x.shape), DType.FP32)], {"output_dtype": dtype})
    graph.outputs = [graph.append("CAST_FROM_BLOCK_SCALED", op.outputs, {"output_dtype": DType.FP32}).output]
    (made,) = run(serialize(graph, TosaSpecification.create_from_string("TOSA-1.1+FP+mxfp")), [x.numpy()])
    assert np.array_equal(made, rounded_to_blocks(x, dtype, 32).numpy())


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, dtype: Any) -> None:
    make, shape = LAYERS[name]
    model, mx = layer(make, dtype)
    x = torch.randn(shape)
    if len(shape) > 1:  # rows of different sizes
        x *= torch.logspace(-3, 3, shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    error = (mx(x) - model(x)).norm() / model(x).norm()
    assert error < NEAR.get(dtype, 0.15)
    for extensions in ("mxfp", "mxfp+mxfp_conv"):
        spec = TosaCompileSpec(f"TOSA-1.1+FP+{extensions}")
        execution = Execution(exported(mx, (x,), spec, "fp32"), spec.target())
        assert len(execution.regions) == 1 and not execution.analysis.rejected
        made = "CONV2D_BLOCK_SCALED" if "conv" in extensions and len(shape) == 4 else "CAST_TO_BLOCK_SCALED"
        assert made in operators(execution)
        ((ours, eager),) = execution.edges([x])
        torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-5 * float(eager.abs().max()))


def test_bfloat16() -> None:
    _, mx = layer(lambda: nn.Linear(64, 5), torch.float8_e4m3fn, torch.bfloat16)
    x = torch.randn(3, 64, dtype=torch.bfloat16)
    spec = TosaCompileSpec("TOSA-1.1+FP+bf16+mxfp")
    execution = Execution(exported(mx, (x,), spec, "fp32"), spec.target())
    assert len(execution.regions) == 1 and "CAST" in operators(execution)
    ((ours, eager),) = execution.edges([x])
    assert ours.dtype is eager.dtype is torch.bfloat16
    torch.testing.assert_close(ours, eager, rtol=2**-7, atol=1e-3)


@pytest.mark.parametrize("spec", ["TOSA-1.0+FP", "TOSA-1.1+FP"])
def test_stays_on_the_cpu_without_the_extension(spec: str) -> None:
    _, mx = layer(lambda: nn.Linear(64, 5), torch.float8_e4m3fn)
    compile_spec = TosaCompileSpec(spec)
    execution = Execution(exported(mx, (torch.randn(2, 64),), compile_spec, "fp32"), compile_spec.target())
    assert not execution.regions
    why = f"computes in MXFP, which {spec} does not have (compile for a specification with it: TOSA-1.1+FP+mxfp)"
    assert why in {str(reason) for reason in execution.analysis.rejected.values()}


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: nn.Linear(40, 5), "has 40 input channels, no multiple of 32"),
        (lambda: nn.Linear(32, 5).half(), "computes in torch.float16"),
        (lambda: nn.Conv2d(64, 64, 1, groups=2), "has groups|input channels"),
        (lambda: nn.Conv2d(32, 4, 3, padding="same"), "has the padding 'same'"),
        (lambda: nn.Conv2d(32, 4, 3, padding=1, padding_mode="reflect"), "pads with reflect"),
    ],
)
def test_layers_that_cannot_be(make: Any, problem: str) -> None:
    model = nn.Sequential(nn.Linear(32, 32), make())
    kinds = [type(module) for module in model]
    with pytest.raises(UsageError, match=problem):
        to_mxfp(model, MXFPOpConfig())
    assert [type(module) for module in model] == kinds


def test_a_filter_chooses() -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 7))
    to_mxfp(model, MXFPOpConfig(), lambda module, name: name == "1")
    assert [type(module).__name__ for module in model] == ["Linear", "MXFPLinear"]


@pytest.mark.parametrize(
    ("arguments", "problem"), [({"weight_dtype": torch.int8}, "is not MXFP"), ({"weight_scaling_mode": "up"}, "RCEIL")]
)
def test_configurations_that_are_wrong(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        MXFPOpConfig(**arguments)
