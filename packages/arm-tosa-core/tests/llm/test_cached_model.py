"""Language models of transformers with their cache as inputs: the same scores as with their own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from llm_kit import SHARED, SIZES

from arm_tosa_core.llm.cached_model import AXES, CachedModel
from arm_tosa_core.support.errors import UsageError

#: Windows are shorter than the text, so that what is behind them must not count.
WINDOW = {**SHARED, "head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8}

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "grouped queries": ("Llama", SHARED),
    "biases": ("Qwen2", SHARED),
    "normalized queries": ("Qwen3", {**SHARED, "head_dim": 8}),
    "partial rotation": ("Phi", SIZES),
    "a window": ("Mistral", {**SHARED, "sliding_window": 6}),
    "windows and capped scores": ("Gemma2", WINDOW),
    "two rotations": ("Gemma3", WINDOW),
    "some layers without rotation": ("SmolLM3", SHARED),
}


def build(kind: str) -> Any:
    name, sizes = MODELS[kind]
    config = getattr(transformers, f"{name}Config", None) if name != "Gemma3" else transformers.Gemma3TextConfig
    assert config is not None
    torch.manual_seed(0)
    return getattr(transformers, f"{name}ForCausalLM")(config(**sizes)).eval()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("step", [1, 5])
def test_it_computes_what_the_model_computes(kind: str, step: int) -> None:
    model, ids = build(kind), torch.randint(0, 96, (1, 20), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        wanted = model(input_ids=ids, use_cache=False).logits
        found = CachedModel.of(model, context=24, prefill=5).scores(ids, step)
        again = model(input_ids=ids, use_cache=False).logits
    torch.testing.assert_close(found, wanted)
    assert torch.equal(again, wanted)  # it is left as it was


def test_positions_that_are_not_written_do_not_count() -> None:
    model = CachedModel.of(build("grouped queries"), context=12, prefill=4)
    ids, position = torch.tensor([[3, 4]], dtype=torch.int32), torch.tensor([5], dtype=torch.int32)
    cache = [torch.randn_like(part) for part in model.empty_cache()]
    other = [part.clone() for part in cache]
    for number, part in enumerate(other):
        part.narrow(AXES[number % 2], 5, 7).fill_(1e3)
    with torch.no_grad():
        assert all(map(torch.equal, model(ids, position, cache), model(ids, position, other)))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: torch.nn.Linear(2, 2), "Linear is no causal language model of transformers"),
        (lambda: transformers.LlamaModel(transformers.LlamaConfig(**SHARED)), "LlamaModel is no causal language"),
        (
            lambda: transformers.OPTForCausalLM(
                transformers.OPTConfig(
                    vocab_size=96, hidden_size=32, ffn_dim=64, num_hidden_layers=1, num_attention_heads=4
                )
            ),
            "OPTForCausalLM cannot be given its cache of keys and values",
        ),
    ],
)
def test_what_is_no_such_model_is_refused(model: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        CachedModel.of(model(), context=8, prefill=4)
