"""A small language model on Ethos-U85: train it on Python's own documentation, compile it, and let it write.

    python examples/language_model.py --steps 200 --out lm

Leaves the program and its tokenizer in a folder, for

    arm-tosa generate lm/lm.pte --tokenizer lm/tokenizer.json --prompt "The statement "

Needs transformers. 200 steps take about a minute on two cores, and teach it to spell; 1000 steps teach it some English.
"""

import argparse
from pathlib import Path

import torch

from arm_tosa_core import compile_llm
from small_llama import byte_tokenizer, train, untrained

CONTEXT = 128


def documentation() -> str:
    """Topics of Python's reference manual, as ``help("topics")`` lists them (licence: PSF version 2)."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


def show(step: int, loss: float) -> None:
    """How far training is, now and then."""
    if step % 50 == 0:
        print(f"step {step}: loss {loss:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200, help="of training")
    parser.add_argument("--target", default="ethos-u85-256")
    parser.add_argument("--scheme", default="a8w8")
    parser.add_argument("--out", type=Path, default=Path("lm"), help="folder for the program and the tokenizer")
    options = parser.parse_args()

    text, tokenizer = documentation(), byte_tokenizer()
    model = untrained(width=96, layers=2, heads=4, context=CONTEXT)  # 190,000 parameters
    model = train(model, torch.tensor(tokenizer.encode(text).ids), options.steps, show)
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
