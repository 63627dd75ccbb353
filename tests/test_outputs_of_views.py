"""Programs whose outputs are views of each other have all of them, in order, in both flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

from arm_ethosu import EthosUPartitioner
from arm_tosa_core import TOSAQuantizer, get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.flow.lowered import compile_spec_of


class Transposed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(6, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.linear(x)
        return y, y.transpose(1, 2).contiguous()


class Several(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(5, 8, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.conv(x)
        return y.transpose(1, 2).contiguous(), y.flatten(1), y, y[:, 2:]


def _run(buffer: bytes, x: torch.Tensor) -> Sequence[torch.Tensor]:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    made: Sequence[torch.Tensor] = Runtime.get().load_program(buffer).load_method("forward").execute([x])
    return made


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("net", [Transposed(), Several()], ids=["transposed", "several"])
def test_every_output_is_there(target: str, net: torch.nn.Module) -> None:
    x = torch.linspace(-1, 1, 30).reshape(1, 5, 6)
    spec: Any = compile_spec_of(target)
    quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
    converted = quantize_program(torch.export.export(net.eval(), (x,)), quantizer, [(x,)]).converted
    program = torch.export.export(converted, (x,))
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)], compile_config=config)
    for buffer in (lower(program, target).buffer, edge.to_executorch().buffer):
        torch.testing.assert_close(tuple(_run(buffer, x)), tuple(program.module()(x)), rtol=0, atol=2e-2)
