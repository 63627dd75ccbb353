"""``arm-tosa accuracy`` of a language model, judged by a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..support.errors import UsageError
from .files import read
from .model import load_function
from .report import Result

if TYPE_CHECKING:
    from ..accuracy.scheme import Scheme
    from ..exir.compile_spec import ArmCompileSpec

#: The suffix of files that are read as text, and the name of what judges a model with them.
TEXT, PERPLEXITY = ".txt", "perplexity"


def text_accuracy(
    model: str,
    spec: ArmCompileSpec,
    calibration: Path,
    evaluate: Path,
    scheme: Scheme,
    tokenizer: Path | None,
    context: int,
) -> Result:
    """Perplexity in float and quantized, through the cache.

    Raises:
        UsageError: a file cannot be read, or as ``evaluate_llm``.
    """
    if tokenizer is None:
        raise UsageError(f"{evaluate} is text: give the model's --tokenizer, a tokenizer.json")
    from ..llm import evaluate_llm
    from ..llm.tokenizer import read_tokenizer

    figures = evaluate_llm(
        load_function(model, "MODEL")(),
        target=spec,
        context=context,
        calibration=[_text(calibration)],
        evaluation=_text(evaluate),
        tokenizer=read_tokenizer(read(tokenizer), tokenizer),
        scheme=scheme,
    )

    def show(console: Console) -> None:
        console.print(
            f"perplexity {figures.perplexity:.4g} (float {figures.float_perplexity:.4g}), "
            f"{100 * figures.same_choice:.1f} % of the preferred tokens are equal, {figures.tokens:,} tokens",
            markup=False,
        )

    data = {"model": model, "target": spec.target().name, "scheme": asdict(scheme), "context": context}
    return Result({**data, **asdict(figures)}, show)


def _text(path: Path) -> str:
    if path.suffix != TEXT:
        raise UsageError(f"{path}: a language model reads text, in a file whose name ends with {TEXT}")
    try:
        return read(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8: {error}") from error
