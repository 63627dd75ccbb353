"""Tables of 16 bits whose results have 32."""

from __future__ import annotations

import torch
from torchao.quantization.pt2e import HistogramObserver
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from arm_tosa_core import QuantizationConfig, TosaCompileSpec, TOSAQuantizer
from arm_tosa_core.testing.harness import Execution, export_quantized


def _scheme(input_: torch.dtype, output: torch.dtype) -> QuantizationConfig:
    specs = [
        QuantizationSpec(dtype=dtype, observer_or_fake_quant_ctr=HistogramObserver, qscheme=torch.per_tensor_symmetric)
        for dtype in (input_, output)
    ]
    return QuantizationConfig(*specs, None, None)


def test_a_sigmoid_of_16_bits_among_32() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sigmoid = torch.nn.Sigmoid()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.sigmoid(self.sigmoid(x) + self.sigmoid(x))

    spec = TosaCompileSpec("TOSA-1.0+INT+int16")
    quantizer = TOSAQuantizer(spec).set_global(_scheme(torch.int32, torch.int32))
    quantizer.set_module_type(torch.nn.Sigmoid, _scheme(torch.int16, torch.int32))
    inputs = (torch.arange(-16, 16, 0.2),)
    run = Execution(export_quantized(Model(), inputs, quantizer), spec.target(), check=True)
    assert sum(op.name == "TABLE" for op in run.regions[0].graph.ops) >= 2
    ((ours, eager),) = run.edges(inputs)
    off = (ours.double() - eager.double()).abs().max() / eager.double().abs().max()
    assert off < 2**-14  # entries have 16 bits
