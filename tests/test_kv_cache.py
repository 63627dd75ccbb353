"""A language model with its cache of keys and values in buffers, as transformers exports it for ExecuTorch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir import to_edge_transform_and_lower

import example_scripts
from arm_tosa_core import TosaCompileSpec, TOSAPartitioner, TOSAQuantizer, get_symmetric_quantization_config
from arm_tosa_core.flow.edge import lower_to_edge
from arm_tosa_core.quantize.post_training import quantize_program
from models.realistic import unit_gain
from models.transformers_networks import DECODER, RotaryTable

POSITIONS = 16
TOKENS = [5, 310, 47, 5, 128, 9]

Call = tuple[torch.Tensor, torch.Tensor]


class Decoder(torch.nn.Module):
    def __init__(self) -> None:
        import transformers
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        super().__init__()
        model = unit_gain(transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))).eval()
        model.model.rotary_emb = RotaryTable(model.model.rotary_emb, POSITIONS)
        model.generation_config.use_cache = True
        model.generation_config.cache_implementation = "static"
        self.step = TorchExportableModuleWithStaticCache(model, 1, POSITIONS)

    def forward(self, token: torch.Tensor, position: torch.Tensor) -> Any:
        return self.step(input_ids=token, cache_position=position)


def calls(tokens: list[int]) -> list[Call]:
    return [(torch.tensor([[token]]), torch.tensor([i])) for i, token in enumerate(tokens)]


@pytest.mark.parametrize("flow", ["fast", "ordinary"])
@pytest.mark.parametrize("profile", ["INT", "FP"])
def test_tokens_follow_each_other(profile: str, flow: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Decoder().eval()
    spec = TosaCompileSpec(f"TOSA-1.0+{profile}").dump_intermediate_artifacts_to(tmp_path)
    program = torch.export.export(model, calls(TOKENS)[0], strict=True)
    if profile == "INT":
        quantizer = TOSAQuantizer(spec).set_global(get_symmetric_quantization_config())
        quantized = quantize_program(program, quantizer, calls([*TOKENS[::-1], 7, 300])).converted
        program = torch.export.export(quantized, calls(TOKENS)[0])
    caches = [buffer for name, buffer in program.named_buffers() if "cache" in name]
    assert len(caches) == 4
    assert not any(cache.any() for cache in caches)  # whatever calibration wrote

    if flow == "fast":
        edge, _ = lower_to_edge(program, spec)
    else:
        edge = to_edge_transform_and_lower(program, partitioner=[TOSAPartitioner(spec)])
    names = Counter(n.target.__name__ for n in edge.exported_program().graph.nodes if n.op == "call_function")
    assert names["executorch_call_delegate"] == 1

    graphs = [path.read_bytes() for path in sorted(tmp_path.glob("delegate_*/tosa.tosa"))]
    compiled = example_scripts.load("reference_interpreter").ReferenceInterpreter(edge, graphs)
    eager = program.module()
    for call in calls(TOKENS):
        (made,) = compiled.run(*call)
        wanted = eager(*call)
        assert (made - wanted).norm() < (0.05 if profile == "INT" else 1e-5) * wanted.norm()
