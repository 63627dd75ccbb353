"""ONNX files, opset 7 and later: ``read`` and ``ROWS``. Needs the package ``onnx``."""

from __future__ import annotations

from .reader import read
from .rows import ROWS

__all__ = ["ROWS", "read"]
