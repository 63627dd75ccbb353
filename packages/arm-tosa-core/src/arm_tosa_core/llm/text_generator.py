"""Runs a compiled language model on this machine, with ExecuTorch's own runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..exir.pte import read
from ..exir.pte_runtime import load_method, load_program
from ..exir.pte_steps import method
from ..support.errors import UsageError
from .cached_model import AXES, resized, write_rows
from .tokenizer import decoded, encoded

#: (token [1, 1], position [1], *cache) -> (scores [1, 1, vocabulary], *rows); int32, then as the model is quantized.
DECODE = "decode"
#: As ``decode`` with a cache of only so many positions, for a text that is no longer yet.
_OF_LENGTH = f"{DECODE}_"
#: (tokens [1, n], position [1], *cache) -> rows
PREFILL = "prefill"
#: -> the scale of the scores
SCALE = "get_logits_scale"
#: -> the tokens that end a text; ExecuTorch's own runner for language models knows this name
EOS = "get_eos_ids"


def decode_of(length: int) -> str:
    """The method that decodes with a cache of so many positions."""
    return f"{_OF_LENGTH}{length}"


def decode_lengths(names: Iterable[str]) -> list[int]:
    """The lengths of the methods that decode with a part of the cache, the shortest first."""
    ends = (name.removeprefix(_OF_LENGTH) for name in names if name.startswith(_OF_LENGTH))
    return sorted(int(end) for end in ends if end.isdecimal())


#: Chooses a token by the scores of all, float32 [vocabulary].
Choose = Callable[[Any], int]

_NAME = "the language model"
_INCOMPLETE = "\N{REPLACEMENT CHARACTER}"


class TextGenerator:
    """A language model and its cache of keys and values, which is the host's: integers, written row by row.

    Args:
        pte: of ``compile_llm``.
        tokenizer: of ``transformers`` or of ``tokenizers``; token ids need none.
        data: the ``.ptd`` file with the weights, if they are not in the program.

    Attributes:
        context: the longest text, in tokens.
        cache: keys [1, heads, length, width] and values [1, heads, width, length] of each layer by turns, int8 or
            int16; as long as the last method takes it.
        cache_bytes: bytes of the cache of a whole context.
        lengths: names of decode methods, by the longest text of each, in tokens.
        position: tokens that have been read.

    Raises:
        UsageError: the program is none of ``compile_llm``, or this machine has no runtime for it.
    """

    def __init__(self, pte: bytes, tokenizer: Any = None, data: Sequence[Path] = ()) -> None:
        import torch

        self.tokenizer = tokenizer
        program = load_program(read(pte), _NAME, data=data)
        missing = sorted({DECODE, SCALE, EOS} - set(program.method_names))
        if missing:
            raise UsageError(f"the program has no method {', '.join(missing)}: make it with compile_llm")
        scale, ends = (load_method(program, name, _NAME) for name in (SCALE, EOS))
        self._prefill = load_method(program, PREFILL, _NAME) if PREFILL in program.method_names else None
        self._scale = float(scale.execute([])[0])
        self._ends = frozenset(map(int, ends.execute([])))
        decode = method(pte, DECODE)
        reading = decode if self._prefill is None else method(pte, PREFILL)
        self._chunk = reading.tensor(reading.inputs[0]).shape[1]
        self._vocabulary = decode.tensor(decode.outputs[0]).shape[-1]
        parts = [decode.tensor(number) for number in decode.inputs[2:]]
        self.cache = [torch.zeros(part.shape, dtype=getattr(torch, part.dtype)) for part in parts]
        self.context: int = parts[0].shape[AXES[0]]
        self.cache_bytes: int = sum(part.nbytes for part in self.cache)
        lengths = {length: decode_of(length) for length in decode_lengths(program.method_names)}
        self.lengths = {**lengths, self.context: DECODE}
        self._decode = {length: load_method(program, name, _NAME) for length, name in self.lengths.items()}
        self.position = 0

    @property
    def row_bytes(self) -> int:
        """Bytes that a token adds to the cache."""
        return self.cache_bytes // self.context

    def reset(self) -> None:
        """Forgets the text."""
        self.position = 0
        for part in self.cache:
            part.zero_()

    def read(self, tokens: Sequence[int]) -> Any:
        """Adds tokens to the text; returns the next one's scores, float32 [vocabulary], up to a term that all share.

        Raises:
            UsageError: there are none, or more than the context has left; or one that the model does not know.
        """
        room = self.context - self.position
        if not 0 < len(tokens) <= room:
            raise UsageError(f"{len(tokens)} tokens are to be read, and the program takes 1 to {room} more")
        unknown = [token for token in tokens if not 0 <= token < self._vocabulary]
        if unknown:
            raise UsageError(
                f"token {unknown[0]}: the model knows 0 to {self._vocabulary - 1}; is the tokenizer its own?"
            )
        *before, last = tokens
        for start in range(0, len(before), self._chunk):
            part = before[start : start + self._chunk]
            padded = [*part, *[0] * (self._chunk - len(part))]  # padding writes no row
            self._write(self._rows(padded), len(part))
        scores, *rows = self._decoded([last])
        self._write(rows, 1)
        return scores.reshape(-1).float() * self._scale

    def tokens(self, prompt: Sequence[int], count: int, choose: Choose | None = None) -> Iterator[int]:
        """A continuation of a text, token by token, until one that ends it; begins anew.

        Args:
            choose: by default the token with the greatest score.

        Raises:
            UsageError: the prompt is empty, or the context is too short for both.
        """
        if len(prompt) + count - 1 > self.context:
            raise UsageError(
                f"the prompt has {len(prompt)} tokens; {count} more exceed the context of {self.context} tokens"
            )
        self.reset()
        tokens = list(prompt)
        for _ in range(count):
            scores = self.read(tokens)
            token = int(scores.argmax()) if choose is None else choose(scores)
            if token in self._ends:
                return
            yield token
            tokens = [token]

    def stream(self, prompt: str, count: int, choose: Choose | None = None) -> Iterator[str]:
        """``tokens`` as text, in pieces of whole characters.

        Raises:
            UsageError: there is no tokenizer, the prompt is empty, or the context is too short.
        """
        tokens: list[int] = []
        written = ""
        for token in self.tokens(encoded(self.tokenizer, prompt), count, choose):
            tokens.append(token)
            text = decoded(self.tokenizer, tokens)
            if not text.endswith(_INCOMPLETE):
                yield text[len(written) :]
                written = text

    def perplexity(self, tokens: Sequence[int]) -> float:
        """Perplexity of a text: e to the mean loss, in nats for each token but the first of a piece.

        A text beyond the context is read in pieces of its length, each from the beginning; a rest is left out.

        Raises:
            UsageError: the text has fewer than two tokens.
        """
        import torch

        length = min(len(tokens), self.context)
        if length < 2:
            raise UsageError("perplexity needs a text of two tokens at least")
        losses = []
        for start in range(0, len(tokens) - length + 1, length):
            self.reset()
            piece = tokens[start : start + length]
            scores = torch.stack([self.read([token]) for token in piece[:-1]])
            losses.append(torch.nn.functional.cross_entropy(scores, torch.tensor(piece[1:])))
        return float(torch.stack(losses).mean().exp())

    def _rows(self, tokens: Sequence[int]) -> list[Any]:
        """The rows of as many tokens as are read at once."""
        return self._decoded(tokens)[1:] if self._prefill is None else self._call(self._prefill, tokens, self.context)

    def _decoded(self, token: Sequence[int]) -> list[Any]:
        """The results of the shortest method whose cache has room for the token."""
        length = min(length for length in self._decode if length > self.position)
        return self._call(self._decode[length], token, length)

    def _call(self, run: Any, tokens: Sequence[int], length: int) -> list[Any]:
        """The results of a method that takes so many positions of the cache."""
        import torch

        if self.cache[0].shape[AXES[0]] != length:
            self.cache = resized(self.cache, length)
        ids = torch.tensor([tokens], dtype=torch.int32)
        results: list[Any] = run.execute([ids, torch.tensor([self.position], dtype=torch.int32), *self.cache])
        return results

    def _write(self, rows: Sequence[Any], count: int) -> None:
        """Writes the first rows of those that a call gave, and goes on behind them."""
        write_rows(self.cache, rows, self.position, count)
        self.position += count
