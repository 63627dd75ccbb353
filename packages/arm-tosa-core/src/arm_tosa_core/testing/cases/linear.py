"""Cases of the rules in ``rules/linear.py``."""

from __future__ import annotations

from ..case import OpCase

CASES: list[OpCase] = []
