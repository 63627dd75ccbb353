"""Integers of rank 0 that the CPU computes with keep their type beside numbers, also on their way into a delegate."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from executorch.runtime import Runtime

from arm_ethosu import EthosUCompileSpec
from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, lower, quantize_program

pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
SPEC = EthosUCompileSpec("ethos-u55-128")


class Counted(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("count", torch.tensor(3, dtype=dtype))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count.add_(1)
        return x + 1.0, self.function(self.count)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
@pytest.mark.parametrize(
    "function",
    [lambda n: n % 3, lambda n: n // 2, lambda n: 7 // n, lambda n: torch.div(n, 2, rounding_mode="floor") * 3],
    ids=["remainder", "quotient", "of a number", "product"],
)
def test_results_have_their_type(function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    quantizer = TOSAQuantizer(SPEC).set_global(get_symmetric_quantization_config())
    program = torch.export.export(Counted(function, dtype), (torch.ones(4),))
    model = quantize_program(program, quantizer, [torch.randn(4) for _ in range(3)]).converted
    lowered = lower(torch.export.export(model, (torch.ones(4),)), SPEC)
    method, exact = Runtime.get().load_program(bytes(lowered.buffer)).load_method("forward"), Counted(function, dtype)
    for _ in range(3):
        torch.testing.assert_close(method.execute([torch.ones(4)])[1], exact(torch.ones(4))[1], rtol=0, atol=0)
