"""Silero VAD, 16 and 8 kHz: whether a frame of 32 ms is speech, with the state of an LSTM from frame to frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.recordings import READER, SPEECH, recording
from examples.silero_vad_network import BEFORE, FRAME, RATE, Vad, frames

_HALF = FRAME // 2
#: Names of weights in the package's program, and here.
_NAMES = {
    "stft.forward_basis_buffer": "stft_conv.weight",
    **{f"encoder.{i}.reparam_conv.": f"conv{i + 1}." for i in range(4)},
    "decoder.rnn.": "lstm_cell.",
    "decoder.decoder.2.": "final_conv.",
}


class HalfRate(Vad):
    """The network for 8 kHz: frames of half as many samples."""

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv, self.conv1 = nn.Conv1d(1, 130, 128, stride=64, bias=False), nn.Conv1d(65, 128, 3, 1, 1)

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """[1, 288] samples and the state, twice [1, 128], to the probability of speech [1, 1] and the next state."""
        x = self.stft_conv(nn.functional.pad(x.unsqueeze(1), (0, BEFORE // 2), "reflect"))
        x = (x[:, :65] ** 2 + x[:, 65:] ** 2).sqrt()
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = layer(x).relu()
        h, c = self.lstm_cell(x.squeeze(-1), (h, c))
        return self.final_conv(h.unsqueeze(-1).relu()).sigmoid().squeeze(-1), h, c


def make_half_rate() -> Network:
    module = HalfRate()
    saved = torch.jit.load(package_file("silero_vad", "data/silero_vad.jit"), map_location="cpu").state_dict()
    weights = {name.removeprefix("_model_8k."): value for name, value in saved.items() if "_model_8k." in name}
    named = {}
    for name, value in weights.items():
        theirs = next(part for part in _NAMES if name.startswith(part))
        named[_NAMES[theirs] + name.removeprefix(theirs)] = value
    module.load_state_dict(named)
    calibration, held_out = _half_rate_frames(READER, 400), _half_rate_frames(SPEECH, 900)
    return Network(module.eval(), calibration, held_out, _metric, states={"h": 1, "c": 2})


def _half_rate_frames(name: str, count: int) -> list[Call]:
    sound = torch.from_numpy(recording(name, RATE // 2))
    return frames(sound[: count * _HALF], _HALF, BEFORE // 2)


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


def _origin(make: Callable[[], Network], task: str) -> Origin:
    return Origin(
        make,
        task,
        package="silero-vad",
        license="MIT",
        data="400 / 900 frames of two recordings, rolled",
        decision="speech or not",
    )


ORIGIN = _origin(make, "voice activity, frames of 32 ms, streaming")
HALF_RATE = _origin(make_half_rate, "voice activity at 8 kHz, frames of 32 ms, streaming")
