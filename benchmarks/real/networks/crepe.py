"""torchcrepe, tiny: the pitch of a voice in a frame of 64 ms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from benchmarks.real.files import package_file, package_module
from benchmarks.real.metrics import agreement, column
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.recordings import OTHER_SINGER, READER, SINGER, SPEECH, recording

_CENTS = 20  # of a bin
_FRAME, _HOP = 1024, 160


def make() -> Network:
    module = package_module("torchcrepe.model", torchcrepe={"PITCH_BINS": 360}).Crepe("tiny")
    weights = torch.load(package_file("torchcrepe", "assets/tiny.pth"), map_location="cpu", weights_only=True)
    module.load_state_dict(weights)
    calibration = _frames(SINGER, 48, 1) + _frames(READER, 16, 2)
    return Network(module.eval(), calibration, _frames(OTHER_SINGER, 80, 3) + _frames(SPEECH, 40, 4), _metric)


def _frames(name: str, count: int, seed: int) -> list[Call]:
    sound = recording(name)
    sound = np.pad(sound / np.abs(sound).max(), _FRAME // 2)
    frames = np.lib.stride_tricks.sliding_window_view(sound, _FRAME)[::_HOP]
    frames = frames[frames.std(1) > 0.01]  # silence has no pitch
    frames = frames[np.random.default_rng(seed).permutation(len(frames))[:count]]
    frames = frames - frames.mean(1, keepdims=True)
    frames = frames / np.maximum(frames.std(1, ddof=1, keepdims=True), 1e-10)
    return [(torch.from_numpy(frame)[None].clone(),) for frame in frames]


def _metric(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """Voiced or not, of all frames; of those that the float network calls voiced, how far the pitches are apart."""
    wanted, got = column(exact), column(other)
    voiced = wanted.amax(1) > 0.5
    cents = (_pitch(wanted) - _pitch(got)).abs()[voiced]
    same = (got.amax(1) > 0.5) == voiced
    same[voiced] &= cents < 50
    return {**agreement(torch.ones_like(same), same), "voiced": int(voiced.sum()), "cents_p95": _p95(cents)}


def _pitch(probabilities: torch.Tensor) -> torch.Tensor:
    """The mean of the bins around the likeliest, in cents."""
    bins = torch.arange(probabilities.shape[1])
    near = (bins - probabilities.argmax(1)[:, None]).abs() <= 4
    weights = probabilities.double() * near
    return (weights * bins * _CENTS).sum(1) / weights.sum(1).clamp_min(1e-9)


def _p95(cents: torch.Tensor) -> float:
    return round(float(cents.quantile(0.95)), 1) if len(cents) else 0.0


ORIGIN = Origin(
    make,
    task="pitch of a voice, frames of 64 ms",
    package="torchcrepe",
    license="MIT",
    data="64 / 120 frames of singing and speech",
    decision="voiced or not, and the pitch within 50 cents",
)
