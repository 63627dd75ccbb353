"""The networks that are measured, and which of them may be looked at when a rewrite is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from benchmarks.nx import graphics
from benchmarks.registry import network
from models.realistic import settle

Call = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Network:
    """A network and what it is calibrated with.

    Args:
        module: in eval mode.
        calibration: calls of it, the same for both sides.
    """

    module: nn.Module
    calibration: Sequence[Call]


def _of_tests(name: str) -> Network:
    module, inputs = network(name)
    return Network(module, [inputs(seed) for seed in range(4)])


def _trained(name: str) -> Network:
    from benchmarks.real.registry import NETWORKS as REAL

    made = REAL[name].make()
    return Network(made.module, made.calibration[:4])


def _frames(build: Callable[[], nn.Module], *shapes: tuple[int, ...]) -> Network:
    """With smooth random pictures; two of them, for they are large."""
    module, inputs = settle(build, partial(_pictures, shapes), batches=1)
    return Network(module, [inputs(seed) for seed in range(2)])


def _pictures(shapes: Sequence[tuple[int, ...]], seed: int) -> Call:
    generator = torch.Generator().manual_seed(seed)
    made = []
    for batch, channels, height, width in shapes:
        coarse = torch.rand(batch, channels, height // 8, width // 8, generator=generator)
        fine = torch.rand(batch, channels, height, width, generator=generator)
        smooth = nn.functional.interpolate(coarse, size=(height, width), mode="bilinear")
        made.append(0.9 * smooth + 0.1 * fine)
    return tuple(made)


_TESTS = (
    "autoencoder", "ds_cnn", "resnet8", "mobilenet_v1_025", "mobilenet_v3_small", "mobilenet_v2", "resnet18",
    "efficientnet_b0", "wav2letter", "digits", "deeplab_v3", "bert_tiny", "deit_tiny", "shufflenet_v2", "segformer",
)  # fmt: skip
_TESTS_HELD_OUT = ("inception_v3", "mobilenet_v3_large")
_REAL = ("efficientnet_lite0", "crepe_tiny", "mtcnn_onet", "page_orientation")
#: Those that judge alone in ``benchmarks/real``, too.
_REAL_HELD_OUT = ("text_detector", "demosaicnet", "centerface", "speech_quality_p808")
_HALF_HD = (544, 960)

#: Rewrites are chosen on these.
CHOSEN_ON: dict[str, Callable[[], Network]] = {
    "nss_v1": partial(_frames, graphics.nss, (1, 12, *_HALF_HD)),
    "unet540": partial(_frames, graphics.UNet540, (1, 12, *_HALF_HD)),
    "sr360": partial(_frames, graphics.Sr360, (1, 3, 360, 640)),
    "frame_interpolation": partial(_frames, graphics.FrameInterpolation, (1, 3, 272, 480), (1, 3, 272, 480)),
    **{name: partial(_of_tests, name) for name in _TESTS},
    **{name: partial(_trained, name) for name in _REAL},
}
#: These only judge: nobody tunes on them.
HELD_OUT: dict[str, Callable[[], Network]] = {
    "nfru_v1": partial(_frames, graphics.nfru, (1, 16, 270, 480)),
    "denoiser": partial(_frames, graphics.Denoiser, (1, 10, *_HALF_HD)),
    **{name: partial(_of_tests, name) for name in _TESTS_HELD_OUT},
    **{name: partial(_trained, name) for name in _REAL_HELD_OUT},
}
NETWORKS = CHOSEN_ON | HELD_OUT
