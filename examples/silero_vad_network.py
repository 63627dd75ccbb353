"""Silero VAD's network for 16 kHz, of which the weights are in silero-vad (MIT)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import pad

RATE, FRAME, BEFORE = 16000, 512, 64  # samples; the last ones of the frame before stand in front


class Vad(nn.Module):
    """A spectrum, four convolutions, an LSTM cell."""

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.conv1, self.conv2 = nn.Conv1d(129, 128, 3, 1, 1), nn.Conv1d(128, 64, 3, 2, 1)
        self.conv3, self.conv4 = nn.Conv1d(64, 64, 3, 2, 1), nn.Conv1d(64, 128, 3, 1, 1)
        self.lstm_cell, self.final_conv = nn.LSTMCell(128, 128), nn.Conv1d(128, 1, 1)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """[1, 576] samples and the state, twice [1, 128], to the probability of speech [1, 1] and the next state."""
        x = self.stft_conv(pad(x.unsqueeze(1), (0, BEFORE), "reflect"))
        x = (x[:, :129] ** 2 + x[:, 129:] ** 2).sqrt()
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = layer(x).relu()
        h, c = self.lstm_cell(x.squeeze(-1), (h, c))
        return self.final_conv(h.unsqueeze(-1).relu()).sigmoid().squeeze(-1), h, c


def frames(sound: torch.Tensor, frame: int = FRAME, before: int = BEFORE) -> list[tuple[torch.Tensor, ...]]:
    """Calls of the network, 32 ms of sound each, with the state at rest."""
    padded = pad(sound, (before, 0))
    starts = range(0, len(sound) - frame + 1, frame)
    return [
        (padded[start : start + before + frame][None].clone(), torch.zeros(1, 128), torch.zeros(1, 128))
        for start in starts
    ]
