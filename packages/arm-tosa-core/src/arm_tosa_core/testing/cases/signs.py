"""Cases of the rules in ``rules/signs.py``."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ..case import QUANTIZED, OpCase, integers, uniform

CASES: list[OpCase] = [
    # a quantum of a logarithm is four of the tangent that it becomes
    OpCase("atan2/tensors", lambda: torch.atan2, [(3, 20), (3, 20)]),
    OpCase("atan2/broadcast", lambda: torch.atan2, [(3, 1, 5), uniform((4, 1), 0.5, 3)]),
    OpCase("atan2/arctan2", lambda: torch.arctan2, [uniform((9,), -3, -1), uniform((9,), -2, -1)]),
    OpCase("copysign/tensors", lambda: torch.copysign, [(3, 20), (3, 20)]),
    OpCase("copysign/number", lambda: lambda x: torch.copysign(x, -1.5), [(3, 20)]),
    OpCase("copysign/minus zero", lambda: lambda x: torch.copysign(x, -0.0), [(3, 20)]),
    OpCase("signbit", lambda: torch.signbit, [(3, 20)]),
    OpCase("signbit/int32", lambda: torch.signbit, [integers((9,), -9, 9, torch.int32)]),
    OpCase("one_hot", lambda: lambda i: F.one_hot(i, 5), [integers((2, 3), 0, 5)]),
    OpCase(
        "one_hot/product",
        lambda: lambda i, w: F.one_hot(i, 5).float() @ w,
        [integers((3,), 0, 5), (5, 4)],
        needs_float=QUANTIZED,
    ),
]
