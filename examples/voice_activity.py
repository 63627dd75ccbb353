"""When somebody speaks: Silero VAD, a streaming recurrent network, on Ethos-U; this script carries its state.

    python -m pip install --no-deps -r examples/requirements.txt
    python examples/voice_activity.py --target ethos-u55-128

The weights are in silero-vad (MIT, 10 MB), a conversation of 30 seconds, in pyannote.audio (MIT, 1 MB). The network
takes 32 ms of sound and its own state, and returns the state for the next call.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import scipy.io.wavfile
import torch
from safetensors.torch import load_file

from on_ethosu import Call, compile_network, packaged, sqnr_db
from silero_vad_network import FRAME, RATE, Vad, frames


def probabilities(network: object, calls: list[Call]) -> torch.Tensor:
    """One number for each frame; the state is carried from call to call."""
    _, h, c = calls[0]
    heard = []
    with torch.no_grad():
        for sound, _, _ in calls:
            speech, h, c = network(sound, h, c)  # type: ignore[operator]
            heard.append(float(speech))
    return torch.tensor(heard)


def main() -> None:
    """Compiles the network and says when somebody speaks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="ethos-u55-128")
    options = parser.parse_args()
    network = Vad().eval()
    network.load_state_dict(load_file(packaged("silero_vad", "data/silero_vad_16k.safetensors")))
    _, samples = scipy.io.wavfile.read(packaged("pyannote", "audio/sample/sample.wav"))
    sound = torch.from_numpy(samples.astype("float32") / 32768)
    judged, calibration = frames(sound[: 14 * RATE]), frames(sound[14 * RATE :])[:200]

    compiled = compile_network(network, calibration, options.target, states={"h": 1, "c": 2})
    exact, made = probabilities(network, judged), probabilities(compiled.run, judged)

    speaks = made > 0.5
    changes = [0, *(i for i in range(1, len(speaks)) if speaks[i] != speaks[i - 1]), len(speaks)]
    for start, end in pairwise(changes):
        what = "speech" if speaks[start] else "silence"
        print(f"{start * FRAME / RATE:5.2f} to {end * FRAME / RATE:5.2f} s: {what}")
    print(f"{int((speaks == (exact > 0.5)).sum())} of {len(speaks)} frames as in float")
    print(f"SQNR {sqnr_db(exact, made):.1f} dB; {compiled}")


if __name__ == "__main__":
    main()
