"""``arm-tosa generate``: text of a compiled language model, token by token."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..exir.pte import Delegate, target_of
from ..plugin.timing import TimeEstimate
from ..support.errors import UsageError
from .files import read, read_program
from .options import DataFiles
from .report import Result, piece, table
from .timing import estimated


def generate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .pte that arm_tosa_core.llm.compile_llm wrote.")],
    tokenizer: Annotated[
        Path, typer.Option(help="The model's tokenizer.json, in the format of the library tokenizers.")
    ],
    prompt: Annotated[str, typer.Option(help="The text to continue.")],
    tokens: Annotated[int, typer.Option("-n", "--tokens", min=1, help="The most tokens to generate.")] = 64,
    temperature: Annotated[
        float,
        typer.Option(min=0.0, help="0 takes the most probable token; higher values also take others, more often."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the random choice of tokens.")] = 0,
    data: DataFiles = None,
) -> Result:
    """Generate text with a compiled language model on this machine."""
    from ..llm.tokenizer import read_tokenizer

    known = read_tokenizer(read(tokenizer), tokenizer)
    program = read_program(file, data)
    from ..llm import TextGenerator

    generator = TextGenerator(program.data, known, data or ())
    estimates = _decoding(program.delegates, generator.lengths)
    text, count = "", 0
    begun = time.perf_counter()
    choose = _sampling(temperature, seed) if temperature else lambda scores: int(scores.argmax())

    def counted(scores: Any) -> int:
        nonlocal count
        count += 1
        return choose(scores)

    piece(prompt)
    for new in generator.stream(prompt, tokens, counted):
        piece(new)
        text += new
    piece("\n")
    rate = count / (time.perf_counter() - begun)
    rows = [
        ("tokens", str(count)),
        ("tokens per second, on this machine", f"{rate:.1f}"),
        ("bytes of the cache", f"{generator.cache_bytes:,}"),
        ("bytes that a token adds to it", f"{generator.row_bytes:,}"),
    ]
    for length, estimate in estimates.items():
        where = f" in the first {length:,}" if len(estimates) > 1 else ""
        rows.append((f"cycles per token{where}, estimated by the timing model", f"{estimate.cycles:,.0f}"))
        rows.append((f"tokens per second on the device{where}, by this estimate", f"{1 / estimate.seconds:,.1f}"))
    whole = estimates.get(generator.context)

    def show(console: Console) -> None:
        console.print(table("", ("", ""), rows, heads=False))

    return Result(
        {
            "text": text,
            "tokens": count,
            "tokens_per_second": rate,
            "cache_bytes": generator.cache_bytes,
            "row_bytes": generator.row_bytes,
            "estimated_cycles_per_token": None if whole is None else round(whole.cycles),
            "estimated_tokens_per_second": None if whole is None else 1 / whole.seconds,
            "estimated_cycles_by_length": {
                str(length): round(estimate.cycles) for length, estimate in estimates.items()
            },
        },
        show,
    )


def _decoding(delegates: Sequence[Delegate], methods: Mapping[int, str]) -> dict[int, TimeEstimate]:
    """What the timing model says of one token, by the length of the text.

    Nothing where the target has no model, or part of the work is the CPU's.
    """
    estimates = {}
    for length, method in sorted(methods.items()):
        matching = [delegate for delegate in delegates if delegate.method == method]
        if len(matching) == 1:
            with suppress(UsageError):
                estimates[length] = estimated(method, target_of(matching[0]), matching[0].payload).estimate
    return estimates


def _sampling(temperature: float, seed: int) -> Callable[[Any], int]:
    import torch

    generator = torch.Generator().manual_seed(seed)

    def choose(scores: Any) -> int:
        return int(torch.multinomial((scores / temperature).softmax(-1), 1, generator=generator))

    return choose
