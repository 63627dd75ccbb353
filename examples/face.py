"""Is it a face, and where are its eyes, nose and mouth: MTCNN's O-Net on Ethos-U.

    python -m pip install --no-deps -r examples/requirements.txt
    python examples/face.py --target ethos-u55-128

The weights are in facenet-pytorch (MIT, 2 MB), which is not imported: it wants torchvision. The pictures are in
scikit-image (BSD-3-Clause): 100 faces and 100 other things of 25x25 pixels, half for calibration and half to judge,
and a portrait.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from PIL import Image
from torch import nn

from on_ethosu import Call, compile_network, packaged, sqnr_db

SIZE = 48
MARKS = ("left eye", "right eye", "nose", "left corner of the mouth", "right corner of the mouth")
PORTRAIT, FACE = "astronaut.png", (165, 60, 285, 180)  # left, top, right, bottom


class ONet(nn.Module):
    """The network that the weights are of: [1, 3, 48, 48], from -1 to 1, to box [1, 4], marks [1, 10], face [1, 2]."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[tuple[str, nn.Module]] = []
        sizes = ((3, 32, 3, 3), (32, 64, 3, 3), (64, 64, 3, 2), (64, 128, 2, 0))  # channels, kernel, pool
        for i, (before, after, kernel, pool) in enumerate(sizes, 1):
            layers += [(f"conv{i}", nn.Conv2d(before, after, kernel)), (f"prelu{i}", nn.PReLU(after))]
            layers += [(f"pool{i}", nn.MaxPool2d(pool, 2, ceil_mode=True))] if pool else []
        for name, layer in layers:
            self.add_module(name, layer)
        self.order = [name for name, _ in layers]
        self.dense5, self.prelu5 = nn.Linear(1152, 256), nn.PReLU(256)
        self.dense6_1, self.dense6_2, self.dense6_3 = nn.Linear(256, 2), nn.Linear(256, 4), nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> Call:
        for name in self.order:
            x = getattr(self, name)(x)
        x = self.prelu5(self.dense5(x.permute(0, 3, 2, 1).flatten(1)))
        return self.dense6_2(x), self.dense6_3(x), self.dense6_1(x).softmax(1)


def prepared(pixels: np.ndarray) -> torch.Tensor:
    """A square of bytes, grey or in colour, as [1, 3, 48, 48] from -1 to 1."""
    image = Image.fromarray(pixels).convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    return torch.from_numpy(((np.asarray(image, np.float32) - 127.5) / 128).transpose(2, 0, 1).copy())[None]


def main() -> None:
    """Compiles the network, tells faces from other things, and finds the marks of the portrait."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="ethos-u55-128")
    options = parser.parse_args()
    network = ONet()
    network.load_state_dict(torch.load(packaged("facenet_pytorch", "data/onet.pt"), weights_only=True))
    network.eval()

    small = np.load(packaged("skimage", "data/lfw_subset.npy"))  # 100 faces, then 100 others, from 0 to 1
    samples = [(prepared((255 * picture).astype(np.uint8)),) for picture in small]
    compiled = compile_network(network, samples[::2], options.target)

    with torch.no_grad():
        exact = [network(*sample) for sample in samples[1::2]]
    made = [compiled.run(*sample) for sample in samples[1::2]]
    faces, likely = (torch.cat([outputs[2][:, 1] for outputs in side]) > 0.7 for side in (exact, made))
    print(f"{int(likely[:50].sum())} of 50 faces and {int(likely[50:].sum())} of 50 other things are called faces")
    print(f"{int((faces == likely).sum())} of 100 decisions as in float")

    left, top, right, bottom = FACE
    portrait = np.asarray(Image.open(packaged("skimage", f"data/{PORTRAIT}")))[top:bottom, left:right]
    with torch.no_grad():
        wanted = network(prepared(portrait))[1]
    _, found, face = compiled.run(prepared(portrait))
    print(f"{PORTRAIT}: a face ({float(face[0, 1]):.0%})" if face[0, 1] > 0.7 else f"{PORTRAIT}: no face")
    x, y = found[0, :5] * (right - left) + left, found[0, 5:] * (bottom - top) + top
    for name, across, down in zip(MARKS, x.tolist(), y.tolist(), strict=True):
        print(f"  {name} at {across:.0f}, {down:.0f}")
    print(f"marks at most {float((wanted - found).abs().max()) * (right - left):.1f} pixels from those of float")
    face_db = sqnr_db(*(torch.cat([outputs[2] for outputs in side]) for side in (exact, made)))
    print(f"SQNR {face_db:.1f} dB; {compiled}")


if __name__ == "__main__":
    main()
