"""Small networks for the handwritten digits of scikit-learn, trained here from a fixed seed in seconds."""

from __future__ import annotations

from functools import partial

from benchmarks.real.metrics import classes
from benchmarks.real.network import Network, Origin
from benchmarks.registry import network  # puts the folder of the tests in front  # noqa: F401
from quantization import digit_nets

_CALIBRATION = 64


def _make(name: str) -> Network:
    (known, _), (unknown, _) = digit_nets.digits()
    calibration, held_out = ([(picture[None],) for picture in pictures] for pictures in (known[:_CALIBRATION], unknown))
    return Network(digit_nets.trained(name), calibration, held_out, classes)


def _origin(name: str, task: str) -> Origin:
    return Origin(
        partial(_make, name),
        task=f"handwritten digits, 8x8, by {task}",
        package="scikit-learn",
        license="BSD-3-Clause, of the pictures",
        data=f"{_CALIBRATION} / {digit_nets.HELD_OUT} pictures",
        decision="digit",
    )


CNN = _origin("cnn", "convolutions and a shortcut")
DEPTHWISE = _origin("ds_cnn", "depthwise convolutions")
TRANSFORMER = _origin("vit", "a transformer of two blocks")
LSTM = _origin("lstm", "an LSTM, row by row")
