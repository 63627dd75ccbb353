"""From a PyTorch module to a program for Vulkan (VGF), in float: lower, save, and take the VGF out again.

    python examples/vgf_flow.py model.pte model.vgf

To quantize first, use VgfQuantizer as in ethosu_flow.py.
"""

import sys
from pathlib import Path

import torch
from executorch.exir import to_edge_transform_and_lower

from arm_vgf import VgfCompileSpec, VgfPartitioner, extract_vgf
from digits_model import DigitsNet

model = DigitsNet().eval()
exported = torch.export.export(model, (torch.rand(1, 1, 8, 8),))

# Without arguments: TOSA 1.0 with the FP and INT profiles, so float and quantized parts may mix.
spec = VgfCompileSpec()
program = to_edge_transform_and_lower(exported, partitioner=[VgfPartitioner(spec)]).to_executorch()

pte, vgf = Path(sys.argv[1]), Path(sys.argv[2])
with pte.open("wb") as file:
    program.write_to_file(file)

# A delegate's payload is a whole VGF, for any other player of VGF files. This program has one delegate.
(payload,) = extract_vgf(pte)
vgf.write_bytes(payload)
