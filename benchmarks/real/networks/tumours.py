"""A network of three layers that tells benign tumours from others by 30 measures, trained here in seconds."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.real.metrics import classes
from benchmarks.real.network import Network, Origin
from benchmarks.real.training import train

_TRAINED_ON, _CALIBRATION, _EPOCHS = 369, 64, 60


def make() -> Network:
    from sklearn.datasets import load_breast_cancer

    known = load_breast_cancer()
    order = torch.randperm(len(known.target), generator=torch.Generator().manual_seed(0))
    measures, kinds = torch.tensor(known.data, dtype=torch.float32)[order], torch.tensor(known.target)[order]
    mean, deviation = measures[:_TRAINED_ON].mean(0), measures[:_TRAINED_ON].std(0)
    measures = (measures - mean) / deviation
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2))
    train(module, measures[:_TRAINED_ON], kinds[:_TRAINED_ON], batch=32, epochs=_EPOCHS)
    calls = [(row[None],) for row in measures]
    return Network(module.eval(), calls[:_CALIBRATION], calls[_TRAINED_ON:], classes)


ORIGIN = Origin(
    make,
    task="kind of a tumour, 30 measures",
    package="scikit-learn",
    license="CC BY 4.0, of the measures",
    data="64 / 200 patients",
    decision="benign or not",
)
