"""Silero VAD, 16 kHz: whether a frame of 32 ms is speech, with the state of an LSTM from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.recordings import READER, SPEECH, recording
from examples.silero_vad_network import FRAME, Vad, frames


def make() -> Network:
    from safetensors.torch import load_file

    module = Vad()
    module.load_state_dict(load_file(str(package_file("silero_vad", "data/silero_vad_16k.safetensors"))))
    calibration, held_out = _frames(READER, 400), _frames(SPEECH, 900)
    return Network(module.eval(), calibration, held_out, _metric, states={"h": 1, "c": 2})


def _frames(name: str, count: int) -> list[Call]:
    return frames(torch.from_numpy(recording(name))[: count * FRAME])


def _metric(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    return above(exact, other, 0.5)


ORIGIN = Origin(
    make,
    task="voice activity, frames of 32 ms, streaming",
    package="silero-vad",
    license="MIT",
    data="400 / 900 frames of two recordings, rolled",
    decision="speech or not",
)
