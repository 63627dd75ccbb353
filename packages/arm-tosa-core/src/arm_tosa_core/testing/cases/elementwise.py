"""Cases of the rules in ``rules/elementwise.py``."""

from __future__ import annotations

import torch

from ..case import OpCase, uniform

CASES: list[OpCase] = [
    OpCase("add/same", lambda: torch.add, [(2, 3, 4), (2, 3, 4)]),
    OpCase("add/broadcast", lambda: torch.add, [(2, 3, 4), (4,)]),
    OpCase("add/number", lambda: lambda x: x + 1.5, [(2, 3, 4)]),
    OpCase("sub/rank 5", lambda: torch.sub, [(1, 2, 2, 3, 4), (1, 1, 2, 3, 4)]),
    OpCase("mul/same", lambda: torch.mul, [(2, 3, 4), (2, 3, 4)]),
    OpCase("mul/number", lambda: lambda x: x * 0.3, [(2, 3, 4)]),
    OpCase("exp", lambda: torch.exp, [(2, 3, 4)]),
    OpCase("rsqrt", lambda: torch.rsqrt, [uniform((3, 5), 0.1, 4.0)]),
]
