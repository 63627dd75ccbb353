"""Cases of the rules in ``rules/signs.py``."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from ..case import QUANTIZED, OpCase, int32, integers, row, uniform

CASES: list[OpCase] = [
    # a quantum of a logarithm is four of the tangent that it becomes
    row("atan2/tensors", torch.atan2, [(3, 20), (3, 20)]),
    row("atan2/broadcast", torch.atan2, [(3, 1, 5), uniform((4, 1), 0.5, 3)]),
    row("atan2/arctan2", torch.arctan2, [uniform((9,), -3, -1), uniform((9,), -2, -1)]),
    row("copysign/tensors", torch.copysign, [(3, 20), (3, 20)]),
    row("copysign/number", lambda x: torch.copysign(x, -1.5), [(3, 20)]),
    row("copysign/minus zero", lambda x: torch.copysign(x, -0.0), [(3, 20)]),
    row("signbit", torch.signbit, [(3, 20)]),
    row("signbit/int32", torch.signbit, [int32((9,), -9, 9)]),
    row("one_hot", lambda i: F.one_hot(i, 5), [integers((2, 3), 0, 5)]),
    row(
        "one_hot/product",
        lambda i, w: F.one_hot(i, 5).float() @ w,
        [integers((3,), 0, 5), (5, 4)],
        needs_float=QUANTIZED,
    ),
]
