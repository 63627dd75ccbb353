"""Basic Pitch: notes, their starts and their pitch from a spectrum with three bins for a semitone."""

from __future__ import annotations

from functools import partial

from benchmarks.real.files import package_file
from benchmarks.real.metrics import above
from benchmarks.real.network import Network, Origin
from benchmarks.real.onnx_part import OnnxPart
from benchmarks.real.recordings import OTHER_SINGER, SINGER, recording, windows

_SAMPLES, _RATE = 43844, 22050
#: Where the spectrum, normalized, goes into the first convolutions.
_SPECTRUM = "model_1/batch_normalization/FusedBatchNormV3;model_1/batch_normalization/FusedBatchNormV33"


def make() -> Network:
    path = package_file("basic_pitch", "saved_models/icassp_2022/nmp.onnx")
    sounds = [windows(recording(name, _RATE), _SAMPLES, count, 1) for name, count in ((SINGER, 6), (OTHER_SINGER, 8))]
    front = OnnxPart(path, (sounds[0][0][..., None],), outputs=[_SPECTRUM])
    sets = [[(front(sound[..., None]),) for sound in part] for part in sounds]
    return Network(OnnxPart(path, sets[0][0], inputs=[_SPECTRUM]), *sets, partial(above, threshold=0.3, index=1))


ORIGIN = Origin(
    make,
    task="notes of music, 2 s",
    package="basic-pitch",
    license="Apache-2.0",
    data="6 / 8 parts of two singers",
    decision="a note or not, of 88 keys and 172 frames",
)
