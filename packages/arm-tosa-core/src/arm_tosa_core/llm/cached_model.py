"""A causal language model of transformers as a function of tokens, their position, and its cache of keys and values."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from ..support.errors import UsageError

#: The axis of positions in the parts of a cache, by turns: keys [1, heads, context, width], and values [1, heads,
#: width, context]. So the cache is the left operand of both products of attention, which no NPU has to transpose.
AXES = (2, 3)


def resized(cache: Sequence[Any], length: int) -> list[Any]:
    """The parts of a cache for so many positions: cut, or with zeros where nothing was written."""
    parts = []
    for number, part in enumerate(cache):
        axis = AXES[number % 2]
        shape, count = list(part.shape), min(length, part.shape[axis])
        shape[axis] = length
        copy = part.new_zeros(shape)
        copy.narrow(axis, 0, count).copy_(part.narrow(axis, 0, count))
        parts.append(copy)
    return parts


def write_rows(cache: Sequence[Any], rows: Sequence[Any], position: int, count: int) -> None:
    """Writes the first of the rows that a call gave into the parts of a cache, tensors of PyTorch, at a position."""
    for number, (part, new) in enumerate(zip(cache, rows, strict=True)):
        axis = AXES[number % 2]
        part.narrow(axis, position, count).copy_(new.narrow(axis, 0, count))


def read_text(model: Any, cache: Sequence[Any], tokens: torch.Tensor, step: int) -> torch.Tensor:
    """The scores of the token after each one of a text, [1, tokens, vocabulary], read through the cache in steps.

    Args:
        model: as ``CachedModel.forward``.
        cache: it is written to.
        tokens: int [1, tokens].
    """
    scores = []
    for begin in range(0, tokens.shape[1], step):
        ids = tokens[:, begin : begin + step].to(torch.int32)
        count = ids.shape[1]
        padded = torch.nn.functional.pad(ids, (0, step - count))  # padding writes no row
        step_scores, *rows = model(padded, torch.tensor([begin], dtype=torch.int32), cache)
        scores.append(step_scores[:, :count])
        write_rows(cache, rows, begin, count)
    return torch.cat(scores, 1)


#: Under this name transformers knows the attention of this module.
_ATTENTION = "arm_tosa_cache"


class _Rows(NamedTuple):
    """Keys or values, as a layer's attention reads them.

    Args:
        past: of all positions, as ``cache.AXES`` says; only those before ``position`` are written.
        new: of the tokens of this call, [1, heads, tokens, width].
        position: of the first of these tokens, int32 [1].
    """

    past: torch.Tensor
    new: torch.Tensor
    position: torch.Tensor


class _Cache:
    """Stands for a cache of transformers: gives its rows, and keeps the rows that a call adds."""

    def __init__(self, past: Sequence[torch.Tensor], position: torch.Tensor) -> None:
        self.past = past
        self.position = position
        self.new: list[torch.Tensor] = []

    def update(self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: Any, **__: Any) -> tuple[_Rows, _Rows]:
        self.new += (keys, values.transpose(2, 3))
        keys_before, values_before = self.past[2 * layer : 2 * layer + 2]
        return _Rows(keys_before, keys, self.position), _Rows(values_before, values, self.position)


def _attention(
    module: nn.Module,
    query: torch.Tensor,
    keys: _Rows,
    values: _Rows,
    _mask: None,
    *,
    scaling: float,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **__: Any,
) -> tuple[torch.Tensor, None]:
    """Attention to the cache and to the new tokens without joining the two: that would copy the cache.

    Heads that share keys are columns of one matrix, so that keys are not repeated either.
    """
    _, heads, tokens, width = query.shape
    groups, context = keys.past.shape[1:3]
    shared = heads // groups
    query = query.reshape(1, groups, shared * tokens, width)
    past = (keys.past @ query.transpose(2, 3)).transpose(2, 3) * scaling
    new = query @ keys.new.transpose(2, 3) * scaling
    if softcap is not None:
        past, new = (torch.tanh(scores / softcap) * softcap for scores in (past, new))
    visible = _visible(context, tokens, keys.position, sliding_window)
    seen, causal = (mask if mask.shape[0] == 1 else mask.repeat(shared, 1) for mask in visible)
    past, new = torch.where(seen, past, -torch.inf), torch.where(causal, new, -torch.inf)
    weights = torch.softmax(torch.cat([past, new], -1), -1)
    old = (values.past @ weights[..., :context].transpose(2, 3)).transpose(2, 3)
    mixed = old + weights[..., context:] @ values.new
    return mixed.reshape(1, heads, tokens, width).transpose(1, 2), None


def _visible(
    context: int, tokens: int, position: torch.Tensor, window: int | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The positions that each new token sees: of the cache, bool [1 or tokens, context], and new, [tokens, tokens]."""
    columns = torch.arange(context, dtype=torch.int32)[None]
    rows = torch.arange(tokens, dtype=torch.int32)[:, None]
    distance = rows - rows.reshape(1, -1)
    past, new = columns < position, distance >= 0
    if window is None:
        return past, new
    return past & (columns > position + rows - window), new & (distance < window)


class _RotaryTable(nn.Module):
    """The results of a rotary embedding as a table: integers cannot compute the sine of a large angle."""

    def __init__(self, rotary: nn.Module, positions: int, kinds: Sequence[str]) -> None:
        super().__init__()
        by_layer_type = "layer_type" in inspect.signature(rotary.forward).parameters
        for kind in kinds if by_layer_type else ("",):
            with torch.no_grad():
                tables = rotary(torch.zeros(1), torch.arange(positions)[None], *([kind] if kind else []))
            for name, table in zip(("cosines", "sines"), tables, strict=True):
                self.register_buffer(f"{name}{kind}", table[0].clone())

    def forward(self, _: torch.Tensor, position_ids: torch.Tensor, layer_type: str = "") -> tuple[torch.Tensor, ...]:
        tables = (getattr(self, f"{name}{layer_type}") for name in ("cosines", "sines"))
        return tuple(nn.functional.embedding(position_ids, table) for table in tables)


class CachedModel(nn.Module):
    """A language model that takes its cache as inputs, and gives the rows that a call adds to it.

    Args:
        model: of transformers; it is changed.
        context: the longest text, in tokens.
        prefill: the most tokens of one call.
    """

    def __init__(self, model: Any, context: int, prefill: int) -> None:
        super().__init__()
        from transformers import AttentionInterface

        AttentionInterface.register(_ATTENTION, _attention)
        model.set_attn_implementation(_ATTENTION)
        kinds = sorted(set(getattr(model.config.get_text_config(), "layer_types", None) or ()))
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if type(child).__name__.endswith("RotaryEmbedding"):
                    setattr(module, name, _RotaryTable(child, context + prefill, kinds))
        self.model = model
        self.context = context

    @classmethod
    def of(cls, model: Any, context: int, prefill: int) -> CachedModel:
        """A cached model from a copy of a model, for inference; the weights are the model's own.

        Raises:
            UsageError: it is no causal language model of transformers, or computes otherwise with this cache.
        """
        from transformers import PreTrainedModel

        name = type(model).__name__
        is_known = isinstance(model, PreTrainedModel)
        plain: Any = copy.deepcopy(model, {id(w): w for w in model.parameters()}) if is_known else None
        if plain is None or plain.get_output_embeddings() is None:
            raise UsageError(f"{name} is no causal language model of transformers")
        plain.eval()
        ids = torch.arange(2 * min(prefill, context // 2))[None] % model.config.get_text_config().vocab_size
        with torch.no_grad():
            expected = plain(input_ids=ids, use_cache=False).logits
            cached = cls(plain, context, prefill).eval()
            try:
                scores = cached.scores(ids, ids.shape[1] // 2)
            except (AttributeError, TypeError, RuntimeError) as why:
                raise UsageError(f"{name} cannot be given its cache of keys and values: {why}") from why
        if not torch.allclose(scores, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max())):
            raise UsageError(f"{name} computes otherwise with its cache as an input: not supported")
        return cached

    def scores(self, tokens: torch.Tensor, step: int) -> torch.Tensor:
        """The scores of the token after each one of a text, [1, tokens, vocabulary]; the text is read in steps."""
        return read_text(self, self.empty_cache(), tokens, step)

    def forward(
        self, tokens: torch.Tensor, position: torch.Tensor, cache: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, ...]:
        """The scores of the token after each one, [1, tokens, vocabulary], and the new rows of the cache.

        Args:
            tokens: int32 [1, tokens].
            position: of the first, int32 [1].
            cache: keys and values of each layer by turns, as ``cache.AXES`` says.
        """
        past = _Cache(cache, position)
        places = (position + torch.arange(tokens.shape[1], dtype=torch.int32))[None]
        output = self.model(
            input_ids=tokens, position_ids=places, attention_mask=None, past_key_values=past, use_cache=True
        )
        return (output.logits, *past.new)

    def empty_cache(self) -> list[torch.Tensor]:
        """The cache before the first token."""
        config: Any = self.model.config.get_text_config()
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        sizes = (1, heads, self.context, width), (1, heads, width, self.context)
        return [torch.zeros(size) for _ in range(config.num_hidden_layers) for size in sizes]
