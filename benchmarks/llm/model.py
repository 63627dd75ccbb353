"""A byte-level Llama of 1.3 million parameters, trained here on text that comes with Python; kept in ~/.cache.

python -m benchmarks.llm.model [--steps 1000]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import torch

from .text import held_out_text, training_text

CONTEXT = 256
STEPS = 1000
_BATCH = 8
_RATE = 3e-3
_WARM_UP = 100

SIZES = {
    "vocab_size": 256,
    "hidden_size": 192,
    "intermediate_size": 384,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "tie_word_embeddings": True,
    "bos_token_id": None,
    "eos_token_id": None,
}


def trained(steps: int = STEPS) -> Any:
    """The model after so many steps; trained now, unless it was trained before."""
    from transformers import LlamaForCausalLM

    folder = _folder() / f"{steps}-steps"
    if not folder.exists():
        _train(steps).save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder).eval()


def byte_tokenizer() -> Any:
    """One token for each byte of UTF-8: a ``tokenizers.Tokenizer``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    return made


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arm-tosa-benchmarks" / "llm"


def _train(steps: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZES)).to(device)
    print(f"training {sum(p.numel() for p in model.parameters()):,} parameters for {steps} steps")
    encode = byte_tokenizer().encode
    tokens, others = (torch.tensor(encode(text).ids, device=device) for text in (training_text(), held_out_text()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.1, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, steps, pct_start=min(_WARM_UP / steps, 0.3))
    started = time.monotonic()
    for step in range(1, steps + 1):
        starts = torch.randint(len(tokens) - CONTEXT, (_BATCH,))
        batch = torch.stack([tokens[i : i + CONTEXT] for i in starts])
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps:
            held = _loss(model.eval(), others)
            model.train()
            print(f"{step:5} {time.monotonic() - started:5.0f} s  loss {loss:.3f}, held out {held:.3f}", flush=True)
    return model.cpu().eval()


@torch.no_grad()
def _loss(model: Any, tokens: torch.Tensor) -> float:
    """The mean loss, in nats for each byte, of 16 pieces that are spread over a text."""
    starts = range(0, len(tokens) - CONTEXT, (len(tokens) - CONTEXT) // 16)
    batch = torch.stack([tokens[i : i + CONTEXT] for i in starts])
    return float(model(input_ids=batch, labels=batch).loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    trained(parser.parse_args().steps)


if __name__ == "__main__":
    main()
