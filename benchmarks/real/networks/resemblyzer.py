"""Resemblyzer's voice encoder: three LSTMs that make an embedding of the speaker from 1.6 s of speech."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import nearest
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.recordings import OTHER_SINGER, READER, SINGER, SPEAKER, SPEECH, mel_power, recording, windows

_SECONDS_16 = 25440  # samples; 160 frames, 10 ms apart


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(40, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = self.lstm(mel)
        return self.linear(hidden[-1]).relu()


def make() -> Network:
    module = Encoder()
    saved = torch.load(package_file("resemblyzer", "pretrained.pt"), map_location="cpu", weights_only=True)
    module.load_state_dict({name: saved["model_state"][name] for name in module.state_dict()})
    calibration = _spectra(READER, 12, 1) + _spectra(SINGER, 4, 2)
    held_out = _spectra(SPEECH, 24, 3) + _spectra(SPEAKER, 8, 4) + _spectra(OTHER_SINGER, 8, 5)
    return Network(module.eval(), calibration, held_out, nearest)


def _spectra(name: str, count: int, seed: int) -> list[Call]:
    parts = windows(recording(name), _SECONDS_16, count, seed)
    # As loud as the package makes it: -30 dB below full scale.
    louder = [part[0].numpy() * (10 ** (-30 / 20) / float((part**2).mean().sqrt())) for part in parts]
    return [(torch.from_numpy(mel_power(part))[None],) for part in louder]


ORIGIN = Origin(
    make,
    task="speaker embedding of 1.6 s",
    package="Resemblyzer",
    license="Apache-2.0",
    data="16 / 40 parts of two / three recordings",
    decision="float's embedding of the same part is the nearest",
)
