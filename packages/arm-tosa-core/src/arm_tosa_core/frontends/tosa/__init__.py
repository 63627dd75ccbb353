"""Models in ``.tosa`` files, TOSA's flatbuffers."""

from __future__ import annotations

from .reader import read as read
from .rows import ROWS as ROWS
