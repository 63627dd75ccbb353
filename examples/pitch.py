"""Which note is sung: PESTO, a network for the pitch of a voice, on Ethos-U.

    python -m pip install --no-deps -r examples/requirements.txt
    python examples/pitch.py --target ethos-u55-128

The package (LGPL-3.0, 0.6 MB) brings the trained network. Its first step, the spectrum (a constant-Q transform),
stays on the CPU; the accelerator takes the network that reads one frame of it. The scale that is judged is made here,
so that the right answers are known; calibration is with other notes.
"""

from __future__ import annotations

import argparse
import math
import sys
from unittest.mock import MagicMock

import torch

from on_ethosu import Call, compile_network, sqnr_db

for name in ("torchaudio", "tqdm"):  # the package reads files and shows progress with them; we do neither
    sys.modules.setdefault(name, MagicMock())
from pesto import load_model  # noqa: E402
from pesto.utils import reduce_activations  # noqa: E402

RATE = 16000
SCALE = {"C4": 60, "D4": 62, "E4": 64, "F4": 65, "G4": 67, "A4": 69, "B4": 71, "C5": 72}  # MIDI's numbers of notes


def sung(note: float, vowel: float, seconds: float = 0.3) -> torch.Tensor:
    """A tone with vibrato, whose overtones are as loud as those of a voice: [1, samples], from -1 to 1.

    Args:
        note: in semitones as MIDI counts them, A4 (440 Hz) is 69.
        vowel: of the resonance of the mouth, in Hz.
        seconds: its length.
    """
    time = torch.arange(int(seconds * RATE)) / RATE
    semitones = note + 0.2 * torch.sin(2 * math.pi * 5.5 * time)
    phase = 2 * math.pi * torch.cumsum(440 * 2 ** ((semitones - 69) / 12), 0) / RATE
    overtones = range(1, int(0.4 * RATE / (440 * 2 ** ((note - 69) / 12))))
    loudness = [
        1 / k * (0.2 + math.exp(-(((k * 440 * 2 ** ((note - 69) / 12) - vowel) / 300) ** 2))) for k in overtones
    ]
    tone = sum(a * torch.sin(k * phase) for a, k in zip(loudness, overtones, strict=True))
    return (tone / tone.abs().max() + 0.003 * torch.randn(len(time)))[None]


def main() -> None:
    """Compiles the network and names the notes of a scale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="ethos-u55-128")
    options = parser.parse_args()
    torch.manual_seed(0)
    pesto = load_model("mir-1k_g7", step_size=20.0, sampling_rate=RATE).eval()

    def frames(sound: torch.Tensor) -> list[Call]:
        with torch.no_grad():
            return [(pesto.crop_cqt(frame[None]),) for frame in pesto.preprocessor(sound)[0, 2:-2]]

    calibration = [frame for i in range(24) for frame in frames(sung(48.3 + 1.3 * i, 400 + 60 * i))[::4]]
    compiled = compile_network(pesto.encoder, calibration, options.target)

    exact, made, right = [], [], 0
    for name, note in SCALE.items():
        with torch.no_grad():
            exact.append(torch.cat([pesto.encoder(*frame) for frame in frames(sung(note, 700))]))
        made.append(torch.cat([compiled.run(*frame)[0] for frame in frames(sung(note, 700))]))
        # The median of the frames; the network's pitches are off by a constant that the package measured.
        heard = float((reduce_activations(made[-1], "alwa") - pesto.shift).median())
        cents = round(100 * (heard - note))
        right += abs(cents) < 50
        print(f"sung {name}, heard {heard:.2f} ({cents:+d} cents)")
    print(f"{right} of {len(SCALE)} notes right")
    print(f"SQNR {sqnr_db(torch.cat(exact), torch.cat(made)):.1f} dB; {compiled}")


if __name__ == "__main__":
    main()
