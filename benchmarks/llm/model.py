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

from examples.small_llama import byte_tokenizer, loss_of, train, untrained

from .text import held_out_text, training_text

CONTEXT = 256
STEPS = 1000


def trained(steps: int = STEPS) -> Any:
    """The model after so many steps; trained now, unless it was trained before."""
    from transformers import LlamaForCausalLM

    folder = _folder() / f"{steps}-steps"
    if not folder.exists():
        _train(steps).save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder).eval()


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arm-tosa-benchmarks" / "llm"


def _train(steps: int) -> Any:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = untrained(width=192, layers=4, heads=6, context=CONTEXT).to(device)
    print(f"training {sum(p.numel() for p in model.parameters()):,} parameters for {steps} steps")
    encode = byte_tokenizer().encode
    tokens, others = (torch.tensor(encode(text).ids, device=device) for text in (training_text(), held_out_text()))
    spread = range(0, len(others) - CONTEXT, (len(others) - CONTEXT) // 16)
    started = time.monotonic()

    def report(step: int, loss: float) -> None:
        if step % 100 == 0 or step == steps:
            with torch.no_grad():
                held = float(loss_of(model.eval(), others, spread))
            model.train()
            print(f"{step:5} {time.monotonic() - started:5.0f} s  loss {loss:.3f}, held out {held:.3f}", flush=True)

    return train(model, tokens, steps, report).cpu()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=STEPS)
    trained(parser.parse_args().steps)


if __name__ == "__main__":
    main()
