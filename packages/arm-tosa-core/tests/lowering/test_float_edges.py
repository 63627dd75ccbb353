"""From reals to integers and back at the edge of a delegate: as PyTorch does, and by no wider tensor than needed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantize_per_tensor

from arm_tosa_core.lowering.builder import Builder
from arm_tosa_core.lowering.values import QParams
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.reference_model import run
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification

SPEC = TosaSpecification.create_from_string("TOSA-1.0+FP+INT+int16")
ROWS = [
    (torch.int8, 0.25, 0, ["MUL", "CLAMP", "CAST"], ["CAST", "MUL"]),
    (torch.int8, 0.25, -128, ["MUL", "CLAMP", "CAST", "CAST", "ADD", "CAST"], ["CAST", "SUB", "MUL"]),
    (torch.int8, 0.0313, 17, ["MUL", "CLAMP", "CAST", "CAST", "ADD", "CAST"], ["CAST", "SUB", "MUL"]),
    (torch.int8, 1e-4, -1, ["MUL", "CLAMP", "CAST", "CAST", "ADD", "CAST"], ["CAST", "SUB", "MUL"]),
    (torch.int16, 0.5, 0, ["MUL", "CLAMP", "CAST"], ["CAST", "MUL"]),
    (torch.int16, 0.01, 5, ["MUL", "CLAMP", "CAST", "CAST", "ADD", "CAST"], ["CAST", "SUB", "MUL"]),
]


@pytest.mark.parametrize(("dtype", "scale", "zero_point", "operators", "_"), ROWS)
def test_halves_and_numbers_beyond_the_range_become_pytorch_s_integers(
    dtype: torch.dtype, scale: float, zero_point: int, operators: list[str], _: list[str]
) -> None:
    limits = torch.iinfo(dtype)
    quarters = torch.arange(4 * (limits.min - 9), 4 * (limits.max + 9), 1 if dtype == torch.int8 else 97)
    x = torch.cat([(quarters / 4 - zero_point) * scale, torch.tensor([3e38, -3e38, 0.0, -0.0])]).reshape(1, -1)
    builder = Builder(Graph(), SPEC)
    value = builder.value(builder.graph.input("x", tuple(x.shape), DType.FP32), torch.float32)
    result = builder.quantize(value, QParams((scale,), zero_point, limits.min, limits.max), dtype)
    assert result.tensor is not None
    builder.graph.outputs = [result.tensor]
    (made,) = run(serialize(builder.graph, SPEC), [x.numpy()])
    expected = torch.ops.quantized_decomposed.quantize_per_tensor(x, scale, zero_point, limits.min, limits.max, dtype)
    assert np.array_equal(made, expected.numpy())
    assert [op.name for op in builder.graph.ops] == operators


@pytest.mark.parametrize(("dtype", "scale", "zero_point", "_", "operators"), ROWS)
def test_every_integer_becomes_pytorch_s_number(
    dtype: torch.dtype, scale: float, zero_point: int, _: list[str], operators: list[str]
) -> None:
    limits = torch.iinfo(dtype)
    x = torch.arange(limits.min, limits.max + 1).to(dtype).reshape(1, -1)
    builder = Builder(Graph(), SPEC)
    value = builder.value(builder.graph.input("x", tuple(x.shape), DType[str(dtype)[6:].upper()]), torch.float32)
    result = builder.real(value.replace(quant=QParams((scale,), zero_point, limits.min, limits.max)))
    assert result.tensor is not None
    builder.graph.outputs = [result.tensor]
    (made,) = run(serialize(builder.graph, SPEC), [x.numpy()])
    expected = torch.ops.quantized_decomposed.dequantize_per_tensor(x, scale, zero_point, limits.min, limits.max, dtype)
    assert np.array_equal(made, expected.numpy())
    assert [op.name for op in builder.graph.ops] == operators
