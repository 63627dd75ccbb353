"""The methods of a compiled language model, as a host calls them."""

from __future__ import annotations

from collections.abc import Iterable

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
