"""Cases of the rules in ``rules/activation.py``."""

from __future__ import annotations

from ..case import OpCase

CASES: list[OpCase] = []
