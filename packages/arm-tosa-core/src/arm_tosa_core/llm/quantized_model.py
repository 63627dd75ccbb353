"""A language model calibrated with text, and its two programs: one token at a time, and many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import nn
from torch.export import Dim, ExportedProgram, export
from torch.fx import GraphModule, Node

from ..accuracy.scheme import ALIASES, Scheme
from ..exir.compile_spec import ArmCompileSpec
from ..lowering.exported_program import is_dequantize, is_quantize
from ..quantize.post_training import quantize_program
from ..quantize.quantizer import TOSAQuantizer
from ..support.errors import UsageError
from .cached_model import AXES, CachedModel, read_text, resized, write_rows

#: At most; fewer where a text would be only a few calls.
_READ_AT_ONCE = 32

Call = tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]


@dataclass(frozen=True)
class QuantizedModel:
    """A language model that takes and gives integers.

    Args:
        module: as ``CachedModel.forward``, with scores and cache as integers.
        empty_cache: before the first token.
        scale: of the scores.
    """

    module: GraphModule
    empty_cache: Sequence[torch.Tensor]
    scale: float

    def scores(self, tokens: torch.Tensor, step: int) -> torch.Tensor:
        """As ``CachedModel.scores``, up to a term that all scores of a token share."""
        cache = [part.clone() for part in self.empty_cache]
        return read_text(self.module, cache, tokens, step).float() * self.scale

    def decode(self, length: int) -> ExportedProgram:
        """One token: the scores of the next, and its rows of the cache, read through so many positions of it."""
        tokens, position, cache = self._call(1)
        return _exported(self.module, (tokens, position, resized(cache, length)))

    def prefill(self, tokens: int) -> ExportedProgram:
        """So many tokens: their rows of the cache, without scores, since only the last token's are read."""
        return _exported(_RowsOnly(self.module), self._call(tokens))

    def _call(self, tokens: int) -> Call:
        position = torch.zeros(1, dtype=torch.int32)
        return torch.zeros(1, tokens, dtype=torch.int32), position, list(self.empty_cache)


def _exported(module: nn.Module, call: Call) -> ExportedProgram:
    """The program for the sizes of a call, without the nodes that nothing reads now that sizes are numbers."""
    program = export(module, call)
    program.graph.eliminate_dead_code()
    return program


class _RowsOnly(nn.Module):
    def __init__(self, module: GraphModule) -> None:
        super().__init__()
        self.module = module

    def forward(self, tokens: torch.Tensor, position: torch.Tensor, cache: list[torch.Tensor]) -> tuple[Any, ...]:
        return tuple(self.module(tokens, position, cache)[1:])


def quantizer_of(scheme: str | Scheme, spec: ArmCompileSpec) -> TOSAQuantizer:
    """The quantizer of a scheme, for a model that is the module ``model`` of a cached one."""
    base = Scheme(ALIASES.get(scheme, scheme)) if isinstance(scheme, str) else scheme
    return replace(base, modules={f"model.{name}": inner for name, inner in base.modules.items()}).quantizer(spec)


def tokens_at_once(context: int) -> int:
    """Tokens of a call while a text is read to calibrate or to judge."""
    return max(2, min(_READ_AT_ONCE, context // 4))


def quantize_model(model: CachedModel, quantizer: TOSAQuantizer, texts: Sequence[Sequence[int]]) -> QuantizedModel:
    """Calibrates a model with texts, each read from its begin through the cache.

    Args:
        texts: as token ids; tokens beyond the context, or of a last call that is not full, are left out.

    Raises:
        UsageError: no text has as many tokens.
    """
    tokens = tokens_at_once(model.context)
    calls = [call for text in texts for call in _reading(model, text, tokens)]
    if not calls:
        raise UsageError(f"no text for calibration has {tokens} tokens, which are read at once: give longer ones")
    number = Dim("tokens", min=2, max=model.context)
    length = Dim("length", min=2, max=model.context)
    shapes = ({1: number}, None, [{AXES[i % 2]: length} for i in range(len(calls[0][2]))])
    # PyTorch takes for an error a condition that it cannot prove for every number of tokens.
    program = export(model, calls[0], dynamic_shapes=shapes, prefer_deferred_runtime_asserts_over_guards=True)
    states = {f"cache_{i}": i + 1 for i in range(len(calls[0][2]))}
    converted = quantize_program(program, quantizer, calls, states=states).converted
    integers, scale = _to_integers(converted)
    inputs = [node for node in converted.graph.nodes if node.op == "placeholder"][-len(states) :]
    empty = [torch.zeros_like(part, dtype=integers[node]) for part, node in zip(calls[0][2], inputs, strict=True)]
    return QuantizedModel(converted, empty, scale)


def _reading(model: CachedModel, text: Sequence[int], tokens: int) -> Iterator[Call]:
    """The calls that read a text, each with the cache as the calls before left it."""
    cache = model.empty_cache()
    for start in range(0, min(len(text), model.context) - tokens + 1, tokens):
        ids = torch.tensor([text[start : start + tokens]], dtype=torch.int32)
        call = ids, torch.tensor([start], dtype=torch.int32), cache
        yield call
        with torch.no_grad():
            rows = model(*call)[1:]
        cache = [before.clone() for before in cache]
        write_rows(cache, rows, start, tokens)


def _to_integers(module: GraphModule) -> tuple[dict[Node, torch.dtype], float]:
    """Removes quantize nodes at inputs and dequantize nodes at results.

    Returns:
        the types of the inputs that are integers now, and the scale of the first result.
    """
    integers: dict[Node, torch.dtype] = {}
    for node in module.graph.find_nodes(op="placeholder"):
        for user in [user for user in node.users if is_quantize(user)]:
            integers[node] = cast(torch.dtype, user.args[5])
            user.replace_all_uses_with(node)
            module.graph.erase_node(user)
    output = module.graph.output_node()
    results = list(cast(Sequence[Node], output.args[0]))
    for node in results:
        if not is_dequantize(node):
            raise UsageError("the quantization scheme leaves scores or cache in float: give a scheme of integers")
    output.args = (tuple(node.args[0] for node in results),)
    scale: Any = results[0].args[1]
    module.graph.eliminate_dead_code()
    module.recompile()
    return integers, float(scale)
