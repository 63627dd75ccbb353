"""The loss of a language model by quantization: perplexity of a text, read through the cache in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..flow.lowered import compile_spec_of
from ..support.errors import UsageError
from .tokenizer import encoded, pieces

if TYPE_CHECKING:
    import torch

    from ..accuracy.scheme import Scheme
    from ..exir.compile_spec import ArmCompileSpec
    from ..tosa.specification import TosaSpecification


@dataclass(frozen=True)
class TextAccuracy:
    """A quantized language model beside float, on a text.

    Args:
        perplexity: e to the mean loss in nats, for each token but the first of a piece; lower is better.
        float_perplexity: the float model's.
        same_choice: how often both prefer the same next token, from 0 to 1.
        tokens: that were foretold.
    """

    perplexity: float
    float_perplexity: float
    same_choice: float
    tokens: int


def evaluate_llm(
    model: Any,
    *,
    target: str | TosaSpecification | ArmCompileSpec,
    context: int,
    calibration: Sequence[str | Sequence[int]],
    evaluation: str | Sequence[int],
    tokenizer: Any = None,
    scheme: str | Scheme = "a8w8",
) -> TextAccuracy:
    """Judges a model of transformers as ``compile_llm`` quantizes it; PyTorch computes the integers.

    Args:
        model, target, context, calibration, tokenizer, scheme: as of ``compile_llm``.
        evaluation: a text; beyond the context it is read in pieces of that length, each from its beginning, and a
            rest is left out.

    Raises:
        UsageError: as ``compile_llm``; or the text has fewer than two tokens.
    """
    import torch

    from .cached_model import CachedModel
    from .quantized_model import quantize_model, quantizer_of, tokens_at_once

    if context < 2:
        raise UsageError(f"the context is 2 tokens at least, not {context}")
    ids = encoded(tokenizer, evaluation) if isinstance(evaluation, str) else evaluation
    length, step = min(len(ids), context), tokens_at_once(context)
    if length < 2:
        raise UsageError("perplexity needs a text of two tokens at least")
    plain = CachedModel.of(model, context, prefill=step)
    quantized = quantize_model(
        plain, quantizer_of(scheme, compile_spec_of(target)), pieces(calibration, tokenizer, context)
    )
    texts = [torch.tensor([ids[i : i + length]]) for i in range(0, len(ids) - length + 1, length)]
    with torch.no_grad():
        exact, noisy = (_scores(judged.scores, texts, step) for judged in (plain, quantized))
    labels = torch.cat([text[0, 1:] for text in texts])
    same = float((exact.argmax(-1) == noisy.argmax(-1)).float().mean())
    return TextAccuracy(_perplexity(noisy, labels), _perplexity(exact, labels), same, len(labels))


def _scores(
    read: Callable[[torch.Tensor, int], torch.Tensor], texts: Sequence[torch.Tensor], step: int
) -> torch.Tensor:
    """The scores of all texts without those after the last tokens, [tokens, vocabulary]."""
    import torch

    return torch.cat([read(text, step)[0, :-1] for text in texts])


def _perplexity(scores: torch.Tensor, labels: torch.Tensor) -> float:
    import torch

    return float(torch.nn.functional.cross_entropy(scores, labels).exp())
