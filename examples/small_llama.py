"""A small Llama that reads bytes, and how it is trained: ``language_model.py`` and ``benchmarks/llm`` share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

_BATCH = 8
_RATE = 3e-3
_WARM_UP = 100


def byte_tokenizer() -> Tokenizer:
    """One token for each byte of UTF-8."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def untrained(width: int, layers: int, heads: int, context: int, **more: Any) -> LlamaForCausalLM:
    """One with random weights, the same in each run; two heads for keys and values, one matrix for both ends."""
    torch.manual_seed(0)
    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers}
    ends = {"tie_word_embeddings": True, "bos_token_id": None, "eos_token_id": None}
    config = LlamaConfig(
        vocab_size=256,
        num_attention_heads=heads,
        num_key_value_heads=2,
        max_position_embeddings=context,
        **{**sizes, **ends, **more},
    )
    return LlamaForCausalLM(config)


def loss_of(model: LlamaForCausalLM, tokens: torch.Tensor, starts: Any) -> torch.Tensor:
    """The mean loss, in nats for each byte, of pieces as long as the context that start there."""
    context = model.config.max_position_embeddings
    batch = torch.stack([tokens[start : start + context] for start in starts])
    loss: torch.Tensor = model(input_ids=batch, labels=batch).loss
    return loss


def train(
    model: LlamaForCausalLM, tokens: torch.Tensor, steps: int, report: Callable[[int, float], None]
) -> LlamaForCausalLM:
    """The model after so many steps of eight pieces of text each.

    Args:
        tokens: of the text, on the model's device.
        report: called after each step with its number and its loss.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.1, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, steps, pct_start=min(_WARM_UP / steps, 0.3))
    model.train()
    for step in range(1, steps + 1):
        starts = torch.randint(len(tokens) - model.config.max_position_embeddings, (_BATCH,))
        loss = loss_of(model, tokens, starts)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        report(step, float(loss))
    return model.eval()
