"""What a line of text says: PP-OCRv4's reader on Ethos-U.

    python -m pip install --no-deps -r examples/requirements.txt
    python examples/text_line.py --target ethos-u85-256

The network and its letters are in rapidocr-onnxruntime (Apache-2.0, 15 MB), an ONNX file whose sizes are open.
The lines are drawn with Pillow's own font (MIT-CMU); those for calibration say something else.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx
import torch
from PIL import Image, ImageDraw, ImageFont

from arm_tosa_core import load_model
from on_ethosu import compile_network, packaged, sqnr_db

WIDTH, HEIGHT = 320, 48
CALIBRATION = (
    "A quick brown fox jumps", "over the lazy dog 2468", "Total: 13.57 EUR", "ROAD CLOSED AHEAD",
    "Platform 9, track 3", "serial no. X7-1045-B", "please keep the door shut", "Open Mon-Fri 8:30",
)  # fmt: skip
JUDGED = ("Ethos reads this line", "invoice 2026-11-25", "exit on the left side", "Speed limit 60 km/h")


def drawn(text: str, ink: int, paper: int) -> torch.Tensor:
    """A line, dark on light or light on dark, as the network takes it: [1, 3, 48, 320], from -1 to 1."""
    line = Image.new("RGB", (WIDTH, HEIGHT), (paper, paper, paper))
    font = ImageFont.load_default(26)
    ImageDraw.Draw(line).text((6, 9), text, font=font, fill=(ink, ink, ink))
    pixels = (np.asarray(line, np.float32) - 127.5) / 127.5
    return torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None]


def read(scores: torch.Tensor, letters: list[str]) -> str:
    """The likeliest letter at each place; a letter repeated without a gap (class 0) between is one."""
    best = scores[0].argmax(1).tolist()
    return "".join(letters[i] for i, before in zip(best, [0, *best], strict=False) if i and i != before)


def main() -> None:
    """Compiles the network and reads the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="ethos-u85-256")
    options = parser.parse_args()
    path = packaged("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx")
    kept = next(entry.value for entry in onnx.load(path).metadata_props if entry.key == "character")
    letters = ["", *kept.splitlines(), " "]

    calibration = [(drawn(text, 20 + 5 * i, 250 - 9 * i),) for i, text in enumerate(CALIBRATION)]
    network = load_model(path, input_shapes={"x": (1, 3, HEIGHT, WIDTH)}).module()
    compiled = compile_network(network, calibration, options.target)

    same, exact, made = 0, [], []
    for text in JUDGED:
        line = drawn(text, 30, 230)
        with torch.no_grad():
            exact.append(network(line)[0])
        made.append(compiled.run(line)[0])
        print(f"{text!r} is read as {read(made[-1], letters)!r}, by float as {read(exact[-1], letters)!r}")
        same += int((exact[-1].argmax(2) == made[-1].argmax(2)).sum())
    print(f"{same} of {sum(scores.shape[1] for scores in exact)} places as in float")
    print(f"SQNR {sqnr_db(torch.cat(exact), torch.cat(made)):.1f} dB; {compiled}")


if __name__ == "__main__":
    main()
