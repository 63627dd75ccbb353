"""Recordings of speech and singing at 16 kHz, and what speech networks make of them before they start."""

from __future__ import annotations

import numpy as np
import scipy.io.wavfile
import scipy.signal
import torch

from benchmarks.real.fetch import folder

RATE = 16000
#: Speech: a conversation, a reader, another speaker; two singers.
SPEECH, READER, SPEAKER, SINGER, OTHER_SINGER = "test", "aepyx", "recording1", "vocadito_10", "vocadito_14"


def recording(name: str, wanted: int = RATE) -> np.ndarray:
    """float32 samples from -1 to 1, one channel, at a rate in Hz."""
    rate, samples = scipy.io.wavfile.read(folder() / f"{name}.wav")
    sound = samples.astype(np.float32) / np.iinfo(samples.dtype).max
    if sound.ndim > 1:
        sound = sound.mean(1)
    if rate != wanted:
        common = np.gcd(rate, wanted)
        sound = scipy.signal.resample_poly(sound, wanted // common, rate // common)
    return np.ascontiguousarray(sound, np.float32)


def windows(sound: np.ndarray, length: int, count: int, seed: int) -> list[torch.Tensor]:
    """Random parts that are not silent, each (1, ``length``)."""
    random = np.random.default_rng(seed)
    loud = float(np.sqrt(np.mean(sound**2)))
    made: list[torch.Tensor] = []
    for start in random.integers(0, len(sound) - length + 1, 50 * count):
        part = sound[start : start + length]
        if np.sqrt(np.mean(part**2)) > 0.3 * loud and len(made) < count:
            made.append(torch.from_numpy(part.copy())[None])
    return made


def mel_power(sound: np.ndarray, bands: int = 40, window: int = 400, hop: int = 160) -> np.ndarray:
    """Power in mel bands, (frames, ``bands``): Slaney's scale and areas, Hann window, frames centred."""
    padded = np.pad(sound, window // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    power = np.abs(np.fft.rfft(frames * scipy.signal.get_window("hann", window), axis=1)) ** 2
    return np.ascontiguousarray(power @ _mel_filters(bands, window).T, np.float32)


def _mel_filters(bands: int, window: int) -> np.ndarray:
    """Triangles of equal area, equally far apart on Slaney's scale: linear up to 1 kHz, then 27 steps to 6.4 kHz."""
    top = 15 + 27 * np.log(RATE / 2 / 1000) / np.log(6.4)
    marks = np.linspace(0, top, bands + 2)
    edges = np.where(marks < 15, marks * 200 / 3, 1000 * 6.4 ** ((marks - 15) / 27))
    at = np.fft.rfftfreq(window, 1 / RATE)
    left, middle, right = (edges[i : i + bands, None] for i in range(3))
    rising, falling = (at - left) / (middle - left), (right - at) / (right - middle)
    return np.maximum(0, np.minimum(rising, falling)) * 2 / (right - left)
