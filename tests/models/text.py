"""BERT-tiny: hidden size 128, 2 layers, 2 heads; a sentence of 128 int64 token ids to class scores."""

from __future__ import annotations

import torch
from torch import nn

from .realistic import unit_gain

_VOCABULARY = 30522


class _Scores(nn.Module):
    """The class scores alone: a delegate returns tensors, not the library's output object."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids).logits


class _States(_Scores):
    """The hidden states behind the last layer: (1, 128, 128), where the scores are two numbers."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids).last_hidden_state


_SIZES = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}


def bert_tiny() -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    return unit_gain(_Scores(BertForSequenceClassification(BertConfig(vocab_size=_VOCABULARY, **_SIZES))))


def bert_tiny_states() -> nn.Module:
    from transformers import BertConfig, BertModel

    return unit_gain(_States(BertModel(BertConfig(vocab_size=_VOCABULARY, **_SIZES), add_pooling_layer=False)))


def inputs(seed: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, _VOCABULARY, (1, 128), generator=torch.Generator().manual_seed(seed)),)
