"""Keyword spotting as firmware: reads a .wav, computes features in C, and prints the word.

    python examples/spoken_word.py --out spoken-word

There is no recorded speech here: a voice is synthesized that says two vowels, one after the other, each time with
another pitch, another size of the mouth, and other noise. A small network learns to tell the words. It becomes firmware
for a Cortex-M55 with an Ethos-U55, whose program (``spoken_word_firmware.c``) reads word.wav through semihosting. QEMU
runs it.
"""

from __future__ import annotations

import argparse
import wave
from pathlib import Path

import numpy as np
import torch
from torch import nn

import in_qemu
from arm_ethosu import EthosUCompileSpec, EthosUQuantizer
from arm_tosa_core import get_symmetric_quantization_config, lower, quantize_program

RATE = 8000  # samples of a second, which is how long a word is
FRAME, HOP = 256, 160  # samples
BANDS = np.geomspace(200, 3600, 16)  # Hz
#: The resonances of the mouth, Hz: of vowels, after Peterson and Barney 1952.
VOWELS = {
    "a": (730, 1090, 2440),
    "e": (530, 1840, 2480),
    "i": (270, 2290, 3010),
    "o": (570, 840, 2410),
    "u": (300, 870, 2240),
}
WORDS = ("ai", "io", "ue", "oa", "eu")


def spoken(word: str, rng: np.random.Generator) -> np.ndarray:
    """A second of sound, int16: the word in a voice, and noise."""
    start, length = rng.uniform(0.05, 0.25), rng.uniform(0.5, 0.7)
    time = np.arange(RATE) / RATE
    part = np.clip((time - start) / length, 0, 1)
    first, second = (np.array(VOWELS[vowel]) * rng.uniform(0.85, 1.15) for vowel in word)
    turn = 1 / (1 + np.exp(-(part - 0.5) * 20))[:, None]
    formants = first * (1 - turn) + second * turn
    pitch = rng.uniform(90, 240) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 3) * time))
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    sound = np.zeros(RATE)
    for harmonic in range(1, int(3800 / pitch.max())):
        away = (harmonic * pitch[:, None] - formants) / np.array([60, 80, 120])
        sound += np.sin(harmonic * phase) * (np.array([1, 0.5, 0.25]) / (1 + away**2)).sum(1)
    sound *= np.sin(np.pi * part) ** 0.5
    sound += rng.normal(0, rng.uniform(0.02, 0.1), RATE)
    return (sound / np.abs(sound).max() * rng.uniform(6000, 30000)).astype(np.int16)


def filters() -> np.ndarray:
    """[2, bands, samples of a frame], int16: cosines and sines under a window, 2^14 for one."""
    angles = 2 * np.pi * BANDS[:, None] * np.arange(FRAME) / RATE
    window = np.hanning(FRAME)
    return np.rint(np.stack([np.cos(angles), np.sin(angles)]) * window * 2**14).astype(np.int16)


def features(sound: np.ndarray) -> np.ndarray:
    """[frames, bands]: 16 times the logarithm of the energy, base 2, as spoken_word_firmware.c computes it."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::HOP].astype(np.int64)
    parts = (frames @ filters().astype(np.int64).transpose(0, 2, 1)) >> 14
    energy = np.maximum((parts**2).sum(0), 1)
    whole = np.frexp(energy.astype(np.float64))[1] - 1
    fraction = np.where(whole >= 4, energy >> np.maximum(whole - 4, 0), energy << np.maximum(4 - whole, 0)) & 15
    return 16 * whole + fraction


def network_input(sounds: list[np.ndarray]) -> torch.Tensor:
    """[N, 1, frames, bands], about -4 to 4."""
    return torch.from_numpy((np.stack([features(sound) for sound in sounds])[:, None] - 512) / 64).float()


def build() -> nn.Module:
    """Two convolutions, an average over time and frequency, a linear layer."""
    layers = [nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Flatten(), nn.Linear(32 * 7 * 2, len(WORDS)))


def train(inputs: torch.Tensor, labels: torch.Tensor, epochs: int) -> nn.Module:
    torch.manual_seed(0)
    net = build()
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(inputs[batch]), labels[batch]).backward()
            optimizer.step()
    return net.eval()


def tables() -> str:
    """spoken_word_tables.h: what the program in C shares with this one."""
    numbers = [[f"{{{', '.join(map(str, band))}}}" for band in part] for part in filters().tolist()]
    rows = "\n".join(f"    {{{', '.join(part)}}}," for part in numbers)
    return f"""/* Made by examples/spoken_word.py: the words, and how features are computed. */
#include <stdint.h>

enum {{ RATE = {RATE}, FRAME = {FRAME}, HOP = {HOP}, BANDS = {len(BANDS)}, FRAMES = {(RATE - FRAME) // HOP + 1} }};

static const char *const words[] = {{{", ".join(f'"{word}"' for word in WORDS)}}};

/* Cosines and sines of each band under a window; 2^14 is one. */
static const int16_t filters[2][BANDS][FRAME] = {{
{rows}
}};
"""


def save(path: Path, sound: np.ndarray) -> None:
    """A .wav: one channel, 16 bits."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound.astype("<i2").tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("spoken-word"), help="folder for the firmware")
    parser.add_argument("--voices", type=int, default=60, help="of each word, to train with")
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    if lacking := in_qemu.missing():
        raise SystemExit(f"not installed: {', '.join(lacking)}")
    rng = np.random.default_rng(0)
    labels = torch.arange(len(WORDS)).repeat(options.voices)
    inputs = network_input([spoken(WORDS[label], rng) for label in labels])
    net = train(inputs, labels, options.epochs)

    spec = EthosUCompileSpec("ethos-u55-128")
    quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
    program = torch.export.export(net, (inputs[:1],))
    made = quantize_program(program, quantizer, [(picture,) for picture in inputs[:50].split(1)])
    options.out.mkdir(parents=True, exist_ok=True)
    lower(torch.export.export(made.converted, (inputs[:1],)), spec).save(options.out / "keyword.pte")

    folder = options.out / "firmware"
    in_qemu.deploy(options.out / "keyword.pte", "keyword", Path(__file__).with_name("spoken_word_firmware.c"), folder)
    (folder / "app" / "spoken_word_tables.h").write_text(tables())
    elf = in_qemu.build(folder)
    for word in WORDS:  # voices that the training did not have
        save(folder / "word.wav", spoken(word, rng))
        print(f"said {word}, heard {in_qemu.emulate(elf, folder).strip()}")


if __name__ == "__main__":
    main()
