"""A quantize node gives integers: operators compute with these, and a dequantize node says which reals they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantize_per_tensor

from arm_tosa_core.flow.lowered import compile_spec_of
from arm_tosa_core.testing.case import Apply
from arm_tosa_core.testing.harness import Execution

_ENDS = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-(2**15), 2**15 - 1)}
_q = torch.ops.quantized_decomposed


def q(x: torch.Tensor, scale: float = 0.05, zero: int = 3, dtype: torch.dtype = torch.int8) -> torch.Tensor:
    made: torch.Tensor = _q.quantize_per_tensor.default(x, scale, zero, *_ENDS[dtype], dtype)
    return made


def dq(x: torch.Tensor, scale: float = 0.05, zero: int = 3) -> torch.Tensor:
    made: torch.Tensor = _q.dequantize_per_tensor.default(x, scale, zero, *_ENDS[x.dtype], x.dtype)
    return made


PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dequantized by another scale": lambda x: dq(q(x), 0.1) + dq(q(x), 0.1),
    "dequantized by another zero point": lambda x: dq(q(x), 0.05, 7) * 2.0,
    "dequantized by both behind a view": lambda x: dq(q(x).reshape(-1), 0.1, -5) + 1.0,
    "dequantized as part of a chain": lambda x: q(dq(q(torch.relu(dq(q(x)))), 0.1) + 1.0, 0.2, 0),
    "unsigned, dequantized by another scale": lambda x: dq(q(x, dtype=torch.uint8), 0.1, 100) * 2.0,
    "int16, dequantized by another scale": lambda x: dq(q(x, 0.001, 0, torch.int16), 0.1, 0) * 2.0,
    "as int32": lambda x: q(x).to(torch.int32) + 1,
    "as reals": lambda x: (q(x).to(torch.float32) - 3) * 0.05,
    "unsigned as reals": lambda x: (q(x, dtype=torch.uint8).to(torch.float32) - 3) * 0.05,
    "compared": lambda x: q(x) > 5,
    "unsigned compared": lambda x: q(x, dtype=torch.uint8) > 5,
    "absolute": lambda x: dq(q(x).abs()),
    "halved": lambda x: dq(q(x) // 2 + 1),
    "negative parts cut": lambda x: dq(torch.relu(q(x))),
    "greatest": lambda x: q(x).amax(-1),
    "chosen": lambda x: torch.where(q(x) > 0, q(x), torch.tensor(0, dtype=torch.int8)),
    "joined": lambda x: torch.cat([q(x), q(x, 0.1, 0)]),
    "a border": lambda x: torch.nn.functional.pad(q(x), (1, 1), value=4),
    "moved": lambda x: q(x, dtype=torch.uint8).t().reshape(-1),
}


@pytest.mark.parametrize("target", ["tosa", "tosa-int", "ethos-u55-128"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_operators_read_the_integers(name: str, target: str) -> None:
    program = PROGRAMS[name]
    x = torch.randn(2, 8, generator=torch.Generator().manual_seed(0)) * 3
    run = Execution(torch.export.export(Apply(program), (x,)), compile_spec_of(target).target())
    (made,), wanted = run.run([x]), program(x)
    step = 0 if wanted.dtype == torch.bool else 1 if not wanted.dtype.is_floating_point else 1e-5
    assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
    assert (made.double() - wanted.double()).abs().max() <= step
