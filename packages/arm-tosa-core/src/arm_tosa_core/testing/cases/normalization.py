"""Cases of the rules in ``rules/normalization.py``."""

from __future__ import annotations

from ..case import OpCase

CASES: list[OpCase] = []
