"""Our delegates beside other backends of ExecuTorch, which take what stays on the CPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch.export import ExportedProgram

from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import UsageError, get_symmetric_quantization_config, lower, quantize_program
from arm_tosa_core.exir.pte import delegates

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's and torchao's own deprecations

SPEC = EthosUCompileSpec("ethos-u55-128")


class Net(torch.nn.Module):
    """A convolution that is quantized, and a linear layer in float behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.linear = torch.nn.Linear(144, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(self.conv(x).relu().flatten(1))


def fast(program: ExportedProgram) -> bytes:
    return lower(program, SPEC, remainder=[XnnpackPartitioner()]).buffer


def ordinary(program: ExportedProgram) -> bytes:
    edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(SPEC), XnnpackPartitioner()])
    return bytes(edge.to_executorch().buffer)


@pytest.mark.parametrize("flow", [fast, ordinary])
def test_xnnpack_takes_what_stays_on_the_cpu(flow: Any) -> None:
    pytest.importorskip("arm_runtime", reason="nox builds arm-runtime-cpp")
    from executorch.runtime import Runtime

    torch.manual_seed(0)
    x = (torch.randn(1, 3, 8, 8),)
    quantizer = EthosUQuantizer(SPEC).set_global(get_symmetric_quantization_config()).set_module_name("linear", None)
    quantized = quantize_program(torch.export.export(Net().eval(), x), quantizer, [x]).converted
    pte = flow(torch.export.export(quantized, x))
    assert {delegate.backend_id for delegate in delegates(pte)} == {"EthosUBackend", "XnnpackBackend"}
    (result,) = Runtime.get().load_program(pte).load_method("forward").execute(list(x))
    torch.testing.assert_close(result, quantized(*x), rtol=0, atol=1e-5)


def test_compile_specs_come_before_partitioners() -> None:
    program = torch.export.export(Net().eval(), (torch.zeros(1, 3, 8, 8),))
    with pytest.raises(UsageError, match="remainder: give compile specs before partitioners"):
        lower(program, SPEC, remainder=[XnnpackPartitioner(), SPEC])


_CORTEX_M = """
import torch
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config, quantize_program
from arm_tosa_core.exir.pte import delegates

spec, x = EthosUCompileSpec("ethos-u55-128"), (torch.randn(1, 4),)
quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
program = torch.export.export(torch.nn.Linear(4, 2).eval(), x)
program = torch.export.export(quantize_program(program, quantizer, [x]).converted, x)
edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(spec)])
edge = EdgeProgramManager(CortexMPassManager(edge.exported_program()).transform())
pte = edge.to_executorch().buffer
assert [delegate.backend_id for delegate in delegates(pte)] == ["EthosUBackend"]
assert b"cortex_m::quantize_per_tensor" in pte and b"cortex_m::dequantize_per_tensor" in pte
"""


def test_kernels_for_cortex_m_quantize_inputs_and_outputs() -> None:
    """In a process of its own: ``executorch.backends.cortex_m`` loads other backends of the same names as ours."""
    done = subprocess.run([sys.executable, "-c", _CORTEX_M], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
