"""Silero VAD, 16 kHz: whether a frame of 32 ms is speech, with the state of an LSTM from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.functional import pad

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.recordings import READER, SPEECH, recording

_FRAME, _BEFORE = 512, 64  # samples; those of the frame before stand in front


class Vad(nn.Module):
    """The network that the weights are of: a spectrum, four convolutions, an LSTM cell."""

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.conv1 = nn.Conv1d(129, 128, 3, 1, 1)
        self.conv2 = nn.Conv1d(128, 64, 3, 2, 1)
        self.conv3 = nn.Conv1d(64, 64, 3, 2, 1)
        self.conv4 = nn.Conv1d(64, 128, 3, 1, 1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> Call:
        x = self.stft_conv(pad(x.unsqueeze(1), (0, _BEFORE), "reflect"))
        x = (x[:, :129] ** 2 + x[:, 129:] ** 2).sqrt()
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = layer(x).relu()
        h, c = self.lstm_cell(x.squeeze(-1), (h, c))
        return self.final_conv(h.unsqueeze(-1).relu()).sigmoid().squeeze(-1), h, c


def make() -> Network:
    from safetensors.torch import load_file

    module = Vad()
    module.load_state_dict(load_file(str(package_file("silero_vad", "data/silero_vad_16k.safetensors"))))
    calibration, held_out = _frames(READER, 400), _frames(SPEECH, 900)
    return Network(module.eval(), calibration, held_out, _metric, states={"h": 1, "c": 2})


def _frames(name: str, count: int) -> list[Call]:
    sound = np.pad(recording(name), (_BEFORE, 0))
    starts = range(0, min(count * _FRAME, len(sound) - _BEFORE - _FRAME + 1), _FRAME)
    parts = [torch.from_numpy(sound[start : start + _BEFORE + _FRAME].copy())[None] for start in starts]
    return [(part, torch.zeros(1, 128), torch.zeros(1, 128)) for part in parts]


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
