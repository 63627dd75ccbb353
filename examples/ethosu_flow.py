"""From a PyTorch module to a program for Ethos-U55: quantize, lower with Vela, save.

python examples/ethosu_flow.py model.pte
"""

import sys

import torch
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config
from digits_model import DigitsNet

model = DigitsNet().eval()
example_inputs = (torch.rand(1, 1, 8, 8),)

# What to compile for. Every argument but the first has a default that fits the target.
spec = EthosUCompileSpec(
    "ethos-u55-128",
    system_config="Ethos_U55_High_End_Embedded",
    memory_mode="Shared_Sram",
    extra_flags=["--output-format=raw"],
)

# Ethos-U computes in integers: quantize to int8, weights per channel.
quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
prepared = prepare_pt2e(torch.export.export(model, example_inputs).module(), quantizer)
for _ in range(8):
    prepared(torch.rand(1, 1, 8, 8))  # calibration: real inputs belong here
quantized = torch.export.export(convert_pt2e(prepared), example_inputs)

# Hand over to the accelerator whatever it can take, and save the program.
program = to_edge_transform_and_lower(quantized, partitioner=[EthosUPartitioner(spec)]).to_executorch()
with open(sys.argv[1], "wb") as file:
    program.write_to_file(file)
