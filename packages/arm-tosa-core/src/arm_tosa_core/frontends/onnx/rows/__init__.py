"""What each ONNX operator means in PyTorch: one row an operator, one file a family."""

from __future__ import annotations

from . import (
    activations,
    attention,
    control,
    elementwise,
    indexing,
    integers,
    linear,
    movement,
    normalization,
    patches,
    recurrent,
    reductions,
    resize,
    shapes,
    spectra,
    windows,
)
from .table import ROWS

__all__ = [
    "ROWS",
    "activations",
    "attention",
    "control",
    "elementwise",
    "indexing",
    "integers",
    "linear",
    "movement",
    "normalization",
    "patches",
    "recurrent",
    "reductions",
    "resize",
    "shapes",
    "spectra",
    "windows",
]
