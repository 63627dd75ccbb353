"""A small language model on Ethos-U85: train it on Python's own documentation, compile it, and let it write.

    python examples/language_model.py --steps 200 --out lm

Leaves the program and its tokenizer in a folder, for

    arm-tosa generate lm/lm.pte --tokenizer lm/tokenizer.json --prompt "The statement "

Needs transformers. 200 steps take about a minute on two cores, and teach it to spell; 1000 steps teach it some English.
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

from arm_tosa_core.llm import compile_llm

CONTEXT = 128


def documentation() -> str:
    """Topics of Python's reference manual, as ``help("topics")`` lists them (licence: PSF version 2)."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


def byte_tokenizer() -> Tokenizer:
    """One token for each byte of UTF-8."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(tokens: torch.Tensor, steps: int) -> LlamaForCausalLM:
    """A Llama of 190,000 parameters after so many steps of eight pieces of text each."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=256,
            hidden_size=96,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
    for step in range(1, steps + 1):
        starts = torch.randint(len(tokens) - CONTEXT, (8,))
        batch = torch.stack([tokens[start : start + CONTEXT] for start in starts])
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == steps:
            print(f"step {step}: loss {loss:.2f}", flush=True)
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="of training")
    parser.add_argument("--target", default="ethos-u85-256")
    parser.add_argument("--scheme", default="a8w8")
    parser.add_argument("--out", type=Path, default=Path("lm"), help="folder for the program and the tokenizer")
    options = parser.parse_args()

    text, tokenizer = documentation(), byte_tokenizer()
    model = train(torch.tensor(tokenizer.encode(text).ids), options.steps)
    program = compile_llm(
        model,
        target=options.target,
        context=CONTEXT,
        prefill=16,
        calibration=[text[start : start + CONTEXT] for start in range(0, len(text), len(text) // 8)],
        tokenizer=tokenizer,
        scheme=options.scheme,
    )
    options.out.mkdir(parents=True, exist_ok=True)
    program.save(options.out / "lm.pte")
    tokenizer.save(str(options.out / "tokenizer.json"))
    for method, figures in program.figures.items():
        cycles = "" if figures.cycles is None else f", {figures.cycles:,.0f} cycles by Vela's estimate"
        print(f"{method}: {figures.delegates} delegates, {figures.on_cpu} operators on the CPU{cycles}")

    prompt = "The statement "
    print(prompt, end="")
    for piece in program.generator().stream(prompt, 80):
        print(piece, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
