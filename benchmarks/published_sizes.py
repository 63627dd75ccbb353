"""Networks of torchvision and transformers as large as they were published, with random weights: a ``--registry`` file.

    python -m benchmarks.accuracy --registry benchmarks/published_sizes.py --models resnet18 bert_small

Needs ``transformers``, and for networks of images a torchvision that fits the installed PyTorch. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

Inputs = Callable[[int], tuple[torch.Tensor, ...]]
Network = tuple[torch.nn.Module, Inputs]
_WARMING = (3, 4)  # batches, images in each


class _One(torch.nn.Module):
    """One of the outputs of a network that returns them by name, from one of its inputs."""

    def __init__(self, network: torch.nn.Module, output: str, argument: str | None, **options: Any) -> None:
        super().__init__()
        self.network, self.output, self.argument, self.options = network, output, argument, options

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        given = {self.argument: x} if self.argument else {}
        result = self.network(*(() if given else (x,)), **given, **self.options)
        found: torch.Tensor = result[self.output]
        return found


def _normal(*shape: int) -> Inputs:
    return lambda seed: (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)),)


def _ids(count: int, vocabulary: int) -> Inputs:
    return lambda seed: (torch.randint(0, vocabulary, (1, count), generator=torch.Generator().manual_seed(seed)),)


def _image(size: int) -> Inputs:
    return _normal(1, 3, size, size)


def _torchvision(name: str, size: int = 224, **options: Any) -> Network:
    import torchvision.models

    return getattr(torchvision.models, name)(weights=None, **options).eval(), _image(size)


def _deeplab() -> Network:
    from torchvision.models import segmentation

    network = segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, aux_loss=False)
    return _One(network, "out", None).eval(), _image(224)


def _transformers(
    model: str, inputs: Inputs, argument: str, output: str = "logits", part: str = "", calls: Any = None, **sizes: Any
) -> Network:
    """A network of transformers whose class is ``model`` and whose configuration has some ``sizes``."""
    import transformers

    kind = model.partition("For")[0].removesuffix("EncoderModel").removesuffix("Model")
    network = getattr(transformers, model)(getattr(transformers, f"{kind}Config")(**sizes)).eval()
    return _One(getattr(network, part) if part else network, output, argument, **(calls or {})).eval(), inputs


def _bert(width: int, layers: int, heads: int) -> Callable[[], Network]:
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}
    model = "BertForSequenceClassification"
    return partial(_transformers, model, _ids(128, 30522), "input_ids", intermediate_size=4 * width, **sizes)


def _of_images(model: str, size: int = 224, **sizes: Any) -> Callable[[], Network]:
    return partial(_transformers, model, _image(size), "pixel_values", **sizes)


REG: dict[str, Callable[[], Network]] = {
    **{
        name: partial(_torchvision, name)
        for name in (
            "mobilenet_v2",
            "mobilenet_v3_small",
            "resnet18",
            "resnet50",
            "efficientnet_b0",
            "shufflenet_v2_x1_0",
        )
    },
    "inception_v3": partial(
        _torchvision, "inception_v3", 299, aux_logits=False, init_weights=False, transform_input=False
    ),
    "deeplabv3_mobilenet_v3_large": _deeplab,
    "bert_tiny": _bert(128, 2, 2),
    "bert_small": _bert(512, 4, 8),
    "deit_tiny": _of_images(
        "DeiTForImageClassification",
        hidden_size=192,
        num_hidden_layers=12,
        num_attention_heads=3,
        intermediate_size=768,
    ),
    "convnext_tiny": _of_images("ConvNextForImageClassification"),
    "swin_tiny": _of_images("SwinForImageClassification"),
    "mobilevit_small": _of_images("MobileViTForImageClassification", 256),
    "segformer_b0": _of_images("SegformerForSemanticSegmentation", 256),
    "whisper_tiny_enc": partial(
        _transformers,
        "WhisperModel",
        _normal(1, 80, 3000),
        "input_features",
        output="last_hidden_state",
        part="encoder",
        d_model=384,
        encoder_layers=4,
        decoder_layers=1,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
    ),
    "t5_small_enc": partial(
        _transformers,
        "T5EncoderModel",
        _ids(64, 32128),
        "input_ids",
        output="last_hidden_state",
        d_model=512,
        d_kv=64,
        d_ff=2048,
        num_layers=6,
        num_heads=8,
        vocab_size=32128,
    ),
    "llama_tiny": partial(
        _transformers,
        "LlamaForCausalLM",
        _ids(64, 2048),
        "input_ids",
        calls={"use_cache": False},
        vocab_size=2048,
        hidden_size=288,
        intermediate_size=768,
        num_hidden_layers=6,
        num_attention_heads=6,
        num_key_value_heads=6,
        max_position_embeddings=256,
    ),
    "wav2vec2_small": partial(
        _transformers,
        "Wav2Vec2Model",
        _normal(1, 16000),
        "input_values",
        output="last_hidden_state",
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
    ),
}


def bn_warm(network: torch.nn.Module, inputs: Inputs) -> None:
    """Makes random weights behave: tokens of zeros become normal, batch norms get the statistics of some images."""
    generator = torch.Generator().manual_seed(7)
    for parameter in network.parameters():
        if parameter.dim() > 1 and parameter.numel() and not parameter.detach().any():
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.5
    norms = [m for m in network.modules() if isinstance(m, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d))]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.train()
        norm.momentum = None  # the mean of all batches
        norm.reset_running_stats()
    batches, images = _WARMING
    with torch.no_grad():
        for batch in range(batches):
            samples = [inputs(1000 + batch * images + image) for image in range(images)]
            network(*(torch.cat(tensors) for tensors in zip(*samples, strict=True)))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()
