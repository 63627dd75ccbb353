"""``.tflite``: the reader (``reader.py``), and the rows, one module for each family of operators."""

from __future__ import annotations

from . import activations, arithmetic, convolutions, loops, moves, recurrent, reductions
from .reader import read
from .rows import ROWS

__all__ = ["ROWS", "activations", "arithmetic", "convolutions", "loops", "moves", "read", "recurrent", "reductions"]
