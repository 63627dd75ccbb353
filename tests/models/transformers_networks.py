"""Networks of the transformers library with small configurations: two layers each, pictures of 64x64, 32 tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .realistic import image, unit_gain

Inputs = Callable[[int], tuple[torch.Tensor, ...]]

VOCABULARY, TOKENS, SIDE = 512, 32, 64


class _Of(nn.Module):
    """One tensor of what a library model returns, with fixed arguments beside its inputs."""

    def __init__(self, model: nn.Module, inputs: tuple[str, ...], result: str, fixed: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.names, self.result, self.fixed = model, inputs, result, fixed

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, inputs, strict=True)), **self.fixed)[self.result]


class _Decoding(nn.Module):
    """One step of a language model: the logits of the token that follows one at a position.

    What came before lies in the caches of keys and of values: [layers, 1, heads, positions, width of a head] each.
    """

    def __init__(self, model: nn.Module, positions: int) -> None:
        super().__init__()
        self.model = model
        model.model.rotary_emb = RotaryTable(model.model.rotary_emb, positions)

    def forward(
        self, token: torch.Tensor, position: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        from transformers import StaticCache

        cache = StaticCache(config=self.model.config, max_cache_len=keys.shape[-2])
        for layer, k, v in zip(cache.layers, keys, values, strict=True):
            layer.lazy_initialization(k, v)
            layer.keys, layer.values, layer.cumulative_length = k.clone(), v.clone(), position[0].clone()
        return self.model(input_ids=token, past_key_values=cache, use_cache=True).logits


class RotaryTable(nn.Module):
    """Cosines and sines of all positions, looked up: integers cannot compute those of a large angle."""

    def __init__(self, rotary: nn.Module, positions: int) -> None:
        super().__init__()
        cosines, sines = rotary(torch.zeros(1), torch.arange(positions)[None])
        self.register_buffer("cosines", cosines[0])
        self.register_buffer("sines", sines[0])

    def forward(self, _: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return nn.functional.embedding(position_ids, self.cosines), nn.functional.embedding(position_ids, self.sines)


def _build(
    model: str, config: str, options: dict[str, Any], inputs: tuple[str, ...], result: str, part: str, **fixed: Any
) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        import transformers

        made = getattr(transformers, model)(getattr(transformers, config)(**options))
        return unit_gain(_Of(getattr(made, part) if part else made, inputs, result, fixed))

    return build


def _ids(seed: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, VOCABULARY, (1, TOKENS), generator=torch.Generator().manual_seed(seed)),)


def _pictures(seed: int) -> tuple[torch.Tensor, ...]:
    return image(seed, 3, SIDE)


def _noise(*shapes: tuple[int, ...]) -> Inputs:
    def inputs(seed: int) -> tuple[torch.Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        return tuple(torch.randn(shape, generator=generator) for shape in shapes)

    return inputs


def _decoding(seed: int) -> tuple[torch.Tensor, ...]:
    """Ids for the decoder, and what the encoder made."""
    return (*_ids(seed), *_noise((1, TOKENS, 64))(seed))


def _step(seed: int) -> tuple[torch.Tensor, ...]:
    """A token, its position, and caches."""
    position = torch.tensor([8 + seed % 16], dtype=torch.int32)
    return (_ids(seed)[0][:, :1], position, *_noise(*[(2, 1, 2, TOKENS, 16)] * 2)(seed))


def _llama_decode() -> nn.Module:
    import transformers

    return unit_gain(_Decoding(transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER)), TOKENS))


_SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
_TEXT = {**_SIZES, "vocab_size": VOCABULARY, "max_position_embeddings": 64}
DECODER = {**_TEXT, "num_key_value_heads": 2}
_PICTURE = {**_SIZES, "image_size": SIDE, "patch_size": 8}
_T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": VOCABULARY}
_WHISPER = {
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "max_source_positions": 50,
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
_WAV2VEC2 = {**_SIZES, "conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
_MOBILEVIT = {
    "image_size": SIDE,
    "hidden_sizes": [32, 48, 64],
    "neck_hidden_sizes": [8, 16, 24, 32, 48, 64, 128],
    "initializer_range": 0.2,  # of batch norms too: at 0.02 each makes what passes it vanish
}
_SEGFORMER = {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 48, 64], "decoder_hidden_size": 32}
_SWIN = {"image_size": SIDE, "embed_dim": 32, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}
_CONVNEXT = {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1], "image_size": SIDE}

_LOGITS, _HIDDEN = "logits", "last_hidden_state"
_BY_IDS, _BY_PIXELS = ("input_ids",), ("pixel_values",)

# name: model class, configuration class, its options, names of the inputs, result, part of the model, fixed arguments
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Inputs]] = {
    "vit": (_build("ViTForImageClassification", "ViTConfig", _PICTURE, _BY_PIXELS, _LOGITS, ""), _pictures),
    "swin": (_build("SwinForImageClassification", "SwinConfig", _SWIN, _BY_PIXELS, _LOGITS, ""), _pictures),
    "convnext": (
        _build("ConvNextForImageClassification", "ConvNextConfig", _CONVNEXT, _BY_PIXELS, _LOGITS, ""),
        _pictures,
    ),
    "mobilevit": (
        _build("MobileViTForImageClassification", "MobileViTConfig", _MOBILEVIT, _BY_PIXELS, _LOGITS, ""),
        _pictures,
    ),
    "segformer": (
        _build("SegformerForSemanticSegmentation", "SegformerConfig", _SEGFORMER, _BY_PIXELS, _LOGITS, ""),
        _pictures,
    ),
    "t5_encoder": (_build("T5EncoderModel", "T5Config", _T5, _BY_IDS, _HIDDEN, ""), _ids),
    "t5_decoder": (
        _build("T5Model", "T5Config", _T5, ("input_ids", "encoder_hidden_states"), _HIDDEN, "decoder", use_cache=False),
        _decoding,
    ),
    "whisper_encoder": (
        _build("WhisperModel", "WhisperConfig", _WHISPER, ("input_features",), _HIDDEN, "encoder"),
        _noise((1, 80, 100)),
    ),
    "whisper_decoder": (
        _build(
            *("WhisperModel", "WhisperConfig", _WHISPER, ("input_ids", "encoder_hidden_states"), _HIDDEN, "decoder"),
            use_cache=False,
        ),
        _decoding,
    ),
    "wav2vec2": (
        _build("Wav2Vec2Model", "Wav2Vec2Config", _WAV2VEC2, ("input_values",), _HIDDEN, ""),
        _noise((1, 4000)),
    ),
    "llama": (
        _build("LlamaForCausalLM", "LlamaConfig", DECODER, _BY_IDS, _LOGITS, "", use_cache=False),
        _ids,
    ),
    "llama_decode": (_llama_decode, _step),
    "qwen": (_build("Qwen2ForCausalLM", "Qwen2Config", DECODER, _BY_IDS, _LOGITS, "", use_cache=False), _ids),
    "gemma": (
        _build(
            *("GemmaForCausalLM", "GemmaConfig", {**DECODER, "head_dim": 16}, _BY_IDS, _LOGITS, ""), use_cache=False
        ),
        _ids,
    ),
    "phi": (_build("PhiForCausalLM", "PhiConfig", _TEXT, _BY_IDS, _LOGITS, "", use_cache=False), _ids),
    "clip_text": (_build("CLIPTextModel", "CLIPTextConfig", _TEXT, _BY_IDS, _HIDDEN, ""), _ids),
}
