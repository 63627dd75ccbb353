"""Cases of the rules in ``rules/elementwise.py``, ``division.py`` and ``functions.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..case import QUANTIZED, OpCase, bools, channels_last, half, int32, integers, refused, row, uniform

#: A divisor with a table of its own reciprocals: int16 tables are linear between 513 points.
_AWAY_FROM_ZERO = (1.0, 3.0)
_INT64 = "int64 numbers whose range is not known"


def _ends(g: torch.Generator) -> torch.Tensor:
    """int32 numbers beside both ends of their type."""
    near = torch.randint(0, 4, (9,), generator=g)
    return torch.cat([near - 2**31, 2**31 - 1 - near]).to(torch.int32)


_SHAPES: dict[str, list[tuple[int, ...]]] = {
    "rank 0": [(), ()],
    "rank 1": [(7,), (7,)],
    "rank 2 row": [(3, 5), (1, 5)],
    "rank 3 column": [(2, 3, 5), (2, 3, 1)],
    "rank 4 lower": [(2, 3, 4, 5), (3, 1, 1)],
    "rank 5 both": [(1, 2, 1, 3, 2), (2, 1, 4, 1, 2)],
    "rank 6": [(1, 2, 1, 2, 3, 2), (1, 2, 1, 2, 3, 2)],
    "0 beside 3": [(), (2, 3, 4)],
    "odd": [(1, 13, 17), (13, 17)],
}
#: A binary operator: the range of its operands.
_BINARY: dict[str, tuple[Callable[..., Any], tuple[float, float], tuple[float, float]]] = {
    "add": (torch.add, (-2, 3), (-1, 5)),
    "sub": (torch.sub, (-2, 3), (-1, 5)),
    "mul": (torch.mul, (-2, 3), (-1, 5)),
    "div": (torch.div, (-2, 3), _AWAY_FROM_ZERO),
    "maximum": (torch.maximum, (-2, 3), (-1, 5)),
    "minimum": (torch.minimum, (-2, 3), (-1, 5)),
}
_broadcast = [
    row(f"{name}/{kind}", f, [uniform(shapes[0], *first), uniform(shapes[1], *second)])
    for name, (f, first, second) in _BINARY.items()
    for kind, shapes in _SHAPES.items()
]

#: With numbers and constants, in place, of several types: the function, then the inputs.
_variants: list[OpCase] = [
    row("add/number", lambda x: x + 1.5, [(2, 3, 4)]),
    row("add/alpha", lambda x, y: torch.add(x, y, alpha=2), [(2, 3), (2, 3)]),
    row("add/alpha number", lambda x: torch.add(x, 3, alpha=0.5), [(2, 3)]),
    row("add/itself", lambda x: x + x, [(2, 3)]),
    row("add/in place", lambda x, y: (x * 2).add_(y), [(2, 3), (2, 3)]),
    row("add/constant", lambda x: x + torch.arange(4) * 0.7, [(2, 3, 4)]),
    row("add/constant of higher rank", lambda x: x + torch.full((1, 1), 0.5), [(4,)]),
    row("add/constant that repeats", lambda x: x + torch.arange(4).repeat(3, 1) * 0.5, [(2, 3, 4)]),
    row("add/constant as large", lambda x: torch.full((2, 3), -0.3) - x, [(1, 3)]),
    row("add/channels_last", torch.add, [channels_last((1, 3, 4, 5)), channels_last((1, 3, 4, 5))]),
    row("add/both orders", torch.add, [channels_last((1, 3, 4, 5)), (3, 4, 5)]),
    row("add/far scales", torch.add, [uniform((3, 5), -1e-3, 1e-3), uniform((3, 5), -300, 500)]),
    row("add/zero", lambda x: x + torch.zeros(3), [(2, 3)]),
    row("add/mask", lambda x: x + torch.tensor([0.0, -float("inf"), torch.finfo().min]), [(2, 3)]),
    row("add/bool", torch.add, [bools(5)] * 2),
    row("add/int8", torch.add, [integers((50,), -128, 128, torch.int8)] * 2),
    row("add/int32", torch.add, [int32((3, 4), -99, 99), int32((4,), 0, 9)]),
    row("add/int32 number", lambda x: x + 7, [int32((3, 4), -99, 99)]),
    row("add/int32 to float", lambda x: x + 0.5, [int32((3, 4), -99, 99)]),
    row("add/int32 beside float", torch.add, [int32((3, 4), -99, 99), (4,)]),
    row("add/int32 beside int8", torch.add, [int32((9,), -9, 9), integers((9,), -9, 9, torch.int8)]),
    row("add/int64", torch.add, [integers((3,), 0, 9), integers((3,), 0, 9)], refused(_INT64)),
    row("add/int64 known", lambda x: (x > 0).long() + 5, [(3, 4)]),
    row("add/int64 too large", lambda x: (x > 0).long() * 2**31, [(3, 4)], refused("int64")),
    row("add/float16", torch.add, [half(3, 4), half(4)], tolerance=(1e-3, 1e-3), needs_float=QUANTIZED),
    row("add/float16 number", lambda x: x + 1.5, [half(3, 4)], tolerance=(1e-3, 1e-3), needs_float=QUANTIZED),
    row("sub/number", lambda x: x - 1.5, [(2, 3, 4)]),
    row("sub/from number", lambda x: 1.5 - x, [(2, 3, 4)]),
    row("sub/from constant", lambda x: torch.linspace(-1, 1, 4) - x, [(2, 3, 4)]),
    row("sub/alpha", lambda x, y: torch.sub(x, y, alpha=-0.5), [(2, 3), (2, 3)]),
    row("sub/rsub tensor", torch.rsub, [(2, 3), (3,)]),
    row("sub/in place", lambda x, y: (x * 2).sub_(y), [(2, 3), (2, 3)]),
    row("sub/int32", torch.sub, [int32((3, 4), -99, 99)] * 2),
    row("mul/number", lambda x: x * 0.3, [(2, 3, 4)]),
    row("mul/negative number", lambda x: x * -0.3, [(2, 3, 4)]),
    row("mul/zero", lambda x: x * 0, [(2, 3, 4)]),
    row("mul/sum by number", lambda x, y: (x + y) * 3, [(2, 3), (2, 3)]),
    row("mul/constant", lambda x: x * torch.linspace(-3, 2, 4), [(2, 3, 4)]),
    row("mul/negative constants", lambda x: x * torch.tensor([-2.0, -1e-4]), [(3, 2)]),
    row("mul/itself", lambda x: x * x, [(2, 3)]),
    row("mul/in place", lambda x, y: (x + 1).mul_(y), [(2, 3), (2, 3)]),
    row("mul/bool", torch.mul, [bools(5)] * 2),
    row("mul/float by bool", torch.mul, [(3, 4), bools(3, 4)]),
    row("mul/int16", torch.mul, [integers((9,), -99, 99, torch.int16)] * 2),
    *(
        row(f"{f.__name__}/number that wraps {dtype}", lambda x, f=f, n=n: f(x, n), [integers((9,), 0, 99, dtype)])
        for f in (torch.add, torch.sub, torch.rsub, torch.mul, torch.remainder, torch.floor_divide)
        for dtype, n in ((torch.uint8, 300), (torch.int16, 70000))
    ),
    row("clamp/unsigned below 0", lambda x: torch.clamp(x, min=-1) + 1, [integers((9,), 0, 99, torch.uint8)]),
    row("mul/int32", torch.mul, [int32((3, 4), -99, 99)] * 2),
    row("mul/int32 by float", torch.mul, [int32((3, 4), -99, 99), (3, 4)]),
    row("mul/int32 ends", lambda x: x * 3, [_ends]),
    row("mul/int32 by constant", lambda x: x * torch.linspace(-3, 2, 4), [int32((3, 4), 0, 9)]),
    row("mul/float16", torch.mul, [half(3, 4), half(3, 1)], tolerance=(1e-3, 1e-3), needs_float=QUANTIZED),
    row("div/number", lambda x: x / 3, [(2, 3, 4)]),
    row("div/negative number", lambda x: x / -3, [(2, 3, 4)]),
    row("div/number by", lambda x: 2 / x, [uniform((2, 9), 1, 3)]),
    row("div/constant", lambda x: x / torch.tensor([3.0, -0.5, 2.0]), [(2, 3)]),
    row("div/in place", lambda x, y: (x + 1).div_(y), [(2, 3), uniform((2, 3), *_AWAY_FROM_ZERO)]),
    row("div/int32", torch.div, [int32((3, 4), -99, 99), int32((4,), 1, 3)]),
    row("div/int32 number", lambda x: x / 4, [int32((3, 4), -99, 99)]),
    row("div/floor number", lambda x: torch.div(x, 0.7, rounding_mode="floor"), [(2, 3, 40)]),
    row("div/trunc number", lambda x: torch.div(x, -0.7, rounding_mode="trunc"), [(2, 3, 40)]),
    row("div/no mode", lambda x: torch.div(x, 3, rounding_mode=None) + x, [(2, 3)]),
    row(
        "div/floor int32",
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        [int32((8, 9), -99, 99), int32((9,), -9, -1)],
    ),
    row("div/trunc int32", lambda x: torch.div(x, 7, rounding_mode="trunc"), [int32((99,), -99, 99)]),
    row(
        "div/floor tensor",
        lambda x, y: torch.div(x, y, rounding_mode="floor"),
        [uniform((3, 9), -9, 9), uniform((3, 9), *_AWAY_FROM_ZERO)],
    ),
    row("remainder/tensor", torch.remainder, [uniform((3, 9), -9, 9), uniform((3, 9), *_AWAY_FROM_ZERO)]),
    row("fmod/tensor", torch.fmod, [uniform((3, 9), -9, 9), uniform((3, 9), *_AWAY_FROM_ZERO)]),
    row("floor_divide/int32", lambda x: x // 7, [int32((99,), -99, 99)]),
    row("floor_divide/large", lambda x: x // -7, [int32((99,), -(2**31) + 1, 2**31)]),
    row("floor_divide/number", lambda x: x // 0.75, [uniform((99,), -9, 9)]),
    row("remainder/number", lambda x: x % 0.75, [uniform((99,), -9, 9)]),
    row("remainder/negative number", lambda x: x % -0.75, [uniform((99,), -9, 9)]),
    row("remainder/int32", torch.remainder, [int32((99,), -99, 99), int32((99,), -9, -1)]),
    row("remainder/int32 ends", lambda x: x % -3, [_ends]),
    row("fmod/number", lambda x: torch.fmod(x, 0.75), [uniform((99,), -9, 9)]),
    row("fmod/int32", lambda x: torch.fmod(x, 7), [int32((99,), -99, 99)]),
    row("maximum/number", lambda x: torch.maximum(x, torch.tensor(0.3)), [(2, 3, 4)]),
    row("maximum/other", torch.max, [(2, 3), (3,)]),
    row("maximum/int8", torch.maximum, [integers((9,), -99, 99, torch.int8)] * 2),
    row("maximum/int32", torch.maximum, [int32((9,), -99, 99)] * 2),
    row("minimum/other", torch.min, [(2, 3), (3,)]),
    row("minimum/constant", lambda x: torch.minimum(x, torch.linspace(-1, 1, 5)), [(2, 5)]),
    row("pow/square", lambda x: x**2, [(3, 5)]),
    row("pow/cube", lambda x: x**3, [(3, 5)]),
    row("pow/zero", lambda x: x**0 + x, [(3, 5)]),
    row("pow/one", lambda x: x**1 + x, [(3, 5)]),
    row("pow/minus two", lambda x: x**-2, [uniform((3, 5), 1, 3)]),
    row("pow/root", lambda x: x**0.5, [uniform((3, 5), 1, 3)]),
    row("pow/fraction", lambda x: x**2.3, [uniform((3, 5), 0, 3)]),
    row("pow/of number", lambda x: 2.0**x, [(3, 5)]),
    row("pow/int32", lambda x: x**3, [int32((9,), -9, 9)]),
    row("pow/tensors", torch.pow, [uniform((3, 5), 0.5, 3), (3, 5)], needs_float=QUANTIZED),
    row("lerp/number", lambda x, y: torch.lerp(x, y, 0.3), [(3, 5), (3, 5)]),
    row("lerp/tensor", torch.lerp, [(3, 5), (3, 5), uniform((5,), 0, 1)]),
    row("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), [(3, 5), (3, 1), (5,)]),
    row("hypot", torch.hypot, [(3, 5), (3, 5)]),
    row("addcdiv", torch.addcdiv, [(3, 5), (3, 1), uniform((5,), *_AWAY_FROM_ZERO)]),
    row("neg/int32", torch.neg, [int32((9,), -99, 99)]),
    row("neg/int32 ends", torch.neg, [_ends]),
    row("neg/int8", torch.neg, [integers((300,), -128, 128, torch.int8)]),
    row("abs/int16", torch.abs, [integers((9,), -(2**15), 4 - 2**15, torch.int16)]),
    row("abs/int32", torch.abs, [int32((9,), -99, 99)]),
    row(
        "abs/uint8",
        torch.abs,
        [integers((9,), 0, 256, torch.uint8)],
        refused("gives numbers without a sign as they are"),
    ),
    row("abs/in place", lambda x: (x + 1).abs_(), [(3, 5)]),
    row("exp/int32", torch.exp, [int32((9,), -9, 9)], needs_float=QUANTIZED),
    row("floor/int32", lambda x: x.floor() + 1, [int32((9,), -9, 9)]),
    row("sign/int32", torch.sign, [int32((9,), -3, 3)]),
    row("exp/float16", torch.exp, [half(3, 5)], tolerance=(2e-3, 1e-3), needs_float=QUANTIZED),
    row("exp/channels_last", torch.exp, [channels_last((1, 3, 4, 5))]),
]

#: Functions of one number: where they are tried, away from poles.
_UNARY: dict[str, tuple[float, float]] = {
    "abs": (-3, 3),
    "acos": (-0.9, 0.9),
    "acosh": (1.5, 4),
    "asin": (-0.9, 0.9),
    "asinh": (-4, 4),
    "atan": (-4, 4),
    "atanh": (-0.8, 0.8),
    "cos": (-7, 7),
    "cosh": (-3, 3),
    "erf": (-3, 3),
    "erfc": (-2, 2),
    "erfinv": (-0.9, 0.9),
    "exp": (-4, 3),
    "exp2": (-4, 3),
    "expm1": (-4, 3),
    "log": (1, 5),
    "log10": (1, 5),
    "log1p": (0, 5),
    "log2": (1, 5),
    "logit": (0.1, 0.9),
    "neg": (-3, 4),
    "reciprocal": (1, 4),
    "rsqrt": (1, 4),
    "sigmoid": (-6, 6),
    "sin": (-7, 7),
    "sinh": (-3, 3),
    "sqrt": (1, 4),
    "square": (-3, 3),
    "tan": (-1.2, 1.2),
    "tanh": (-3, 3),
}
_unary = [row(name, getattr(torch, name), [uniform((3, 40), low, high)]) for name, (low, high) in _UNARY.items()]
#: Functions with jumps.
_steps = [row(name, getattr(torch, name), [(3, 40)]) for name in ("ceil", "floor", "round", "sign", "trunc", "frac")]

CASES: list[OpCase] = [*_broadcast, *_variants, *_unary, *_steps]
