"""Cases of the rules in ``rules/elementwise.py``, ``division.py`` and ``functions.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..case import QUANTIZED, OpCase, channels_last, given, integers, uniform

#: A divisor with a table of its own reciprocals: int16 tables are linear between 513 points.
_AWAY_FROM_ZERO = (1.0, 3.0)
_INT64 = "int64 numbers whose range is not known"
_EVERYWHERE = ("fp32", "int8", "int16")


def _half(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    return lambda g: torch.randn(shape, generator=g).half()


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
    OpCase(
        f"{name}/{kind}",
        given(f),
        [uniform(shapes[0], *first), uniform(shapes[1], *second)],
    )
    for name, (f, first, second) in _BINARY.items()
    for kind, shapes in _SHAPES.items()
]

#: With numbers and constants, in place, of several types: the function, then the inputs.
_variants: list[OpCase] = [
    OpCase("add/number", lambda: lambda x: x + 1.5, [(2, 3, 4)]),
    OpCase("add/alpha", lambda: lambda x, y: torch.add(x, y, alpha=2), [(2, 3), (2, 3)]),
    OpCase("add/alpha number", lambda: lambda x: torch.add(x, 3, alpha=0.5), [(2, 3)]),
    OpCase("add/itself", lambda: lambda x: x + x, [(2, 3)]),
    OpCase("add/in place", lambda: lambda x, y: (x * 2).add_(y), [(2, 3), (2, 3)]),
    OpCase("add/constant", lambda: lambda x: x + torch.arange(4) * 0.7, [(2, 3, 4)]),
    OpCase("add/constant of higher rank", lambda: lambda x: x + torch.full((1, 1), 0.5), [(4,)]),
    OpCase("add/constant that repeats", lambda: lambda x: x + torch.arange(4).repeat(3, 1) * 0.5, [(2, 3, 4)]),
    OpCase("add/constant as large", lambda: lambda x: torch.full((2, 3), -0.3) - x, [(1, 3)]),
    OpCase("add/channels_last", lambda: torch.add, [channels_last((1, 3, 4, 5)), channels_last((1, 3, 4, 5))]),
    OpCase("add/both orders", lambda: torch.add, [channels_last((1, 3, 4, 5)), (3, 4, 5)]),
    OpCase("add/far scales", lambda: torch.add, [uniform((3, 5), -1e-3, 1e-3), uniform((3, 5), -300, 500)]),
    OpCase("add/zero", lambda: lambda x: x + torch.zeros(3), [(2, 3)]),
    OpCase("add/mask", lambda: lambda x: x + torch.tensor([0.0, -float("inf"), torch.finfo().min]), [(2, 3)]),
    OpCase("add/bool", lambda: torch.add, [integers((5,), 0, 2, torch.bool)] * 2),
    OpCase("add/int8", lambda: torch.add, [integers((50,), -128, 128, torch.int8)] * 2),
    OpCase("add/int32", lambda: torch.add, [integers((3, 4), -99, 99, torch.int32), integers((4,), 0, 9, torch.int32)]),
    OpCase("add/int32 number", lambda: lambda x: x + 7, [integers((3, 4), -99, 99, torch.int32)]),
    OpCase("add/int32 to float", lambda: lambda x: x + 0.5, [integers((3, 4), -99, 99, torch.int32)]),
    OpCase("add/int32 beside float", lambda: torch.add, [integers((3, 4), -99, 99, torch.int32), (4,)]),
    OpCase(
        "add/int32 beside int8",
        lambda: torch.add,
        [integers((9,), -9, 9, torch.int32), integers((9,), -9, 9, torch.int8)],
    ),
    OpCase(
        "add/int64", lambda: torch.add, [integers((3,), 0, 9), integers((3,), 0, 9)], dict.fromkeys(_EVERYWHERE, _INT64)
    ),
    OpCase("add/int64 known", lambda: lambda x: (x > 0).long() + 5, [(3, 4)]),
    OpCase(
        "add/int64 too large",
        lambda: lambda x: (x > 0).long() * 2**31,
        [(3, 4)],
        dict.fromkeys(_EVERYWHERE, "int64"),  # of the constant; of the product where the target has no BOOL
    ),
    OpCase("add/float16", lambda: torch.add, [_half(3, 4), _half(4)], tolerance=(1e-3, 1e-3), needs_float=QUANTIZED),
    OpCase(
        "add/float16 number", lambda: lambda x: x + 1.5, [_half(3, 4)], tolerance=(1e-3, 1e-3), needs_float=QUANTIZED
    ),
    OpCase("sub/number", lambda: lambda x: x - 1.5, [(2, 3, 4)]),
    OpCase("sub/from number", lambda: lambda x: 1.5 - x, [(2, 3, 4)]),
    OpCase("sub/from constant", lambda: lambda x: torch.linspace(-1, 1, 4) - x, [(2, 3, 4)]),
    OpCase("sub/alpha", lambda: lambda x, y: torch.sub(x, y, alpha=-0.5), [(2, 3), (2, 3)]),
    OpCase("sub/rsub tensor", lambda: torch.rsub, [(2, 3), (3,)]),
    OpCase("sub/in place", lambda: lambda x, y: (x * 2).sub_(y), [(2, 3), (2, 3)]),
    OpCase("sub/int32", lambda: torch.sub, [integers((3, 4), -99, 99, torch.int32)] * 2),
    OpCase("mul/number", lambda: lambda x: x * 0.3, [(2, 3, 4)]),
    OpCase("mul/negative number", lambda: lambda x: x * -0.3, [(2, 3, 4)]),
    OpCase("mul/zero", lambda: lambda x: x * 0, [(2, 3, 4)]),
    OpCase("mul/sum by number", lambda: lambda x, y: (x + y) * 3, [(2, 3), (2, 3)]),
    OpCase("mul/constant", lambda: lambda x: x * torch.linspace(-3, 2, 4), [(2, 3, 4)]),
    OpCase("mul/negative constants", lambda: lambda x: x * torch.tensor([-2.0, -1e-4]), [(3, 2)]),
    OpCase("mul/itself", lambda: lambda x: x * x, [(2, 3)]),
    OpCase("mul/in place", lambda: lambda x, y: (x + 1).mul_(y), [(2, 3), (2, 3)]),
    OpCase("mul/bool", lambda: torch.mul, [integers((5,), 0, 2, torch.bool)] * 2),
    OpCase("mul/float by bool", lambda: torch.mul, [(3, 4), integers((3, 4), 0, 2, torch.bool)]),
    OpCase("mul/int16", lambda: torch.mul, [integers((9,), -99, 99, torch.int16)] * 2),
    OpCase("mul/int32", lambda: torch.mul, [integers((3, 4), -99, 99, torch.int32)] * 2),
    OpCase("mul/int32 by float", lambda: torch.mul, [integers((3, 4), -99, 99, torch.int32), (3, 4)]),
    OpCase("mul/int32 ends", lambda: lambda x: x * 3, [_ends]),
    OpCase(
        "mul/int32 by constant", lambda: lambda x: x * torch.linspace(-3, 2, 4), [integers((3, 4), 0, 9, torch.int32)]
    ),
    OpCase("mul/float16", lambda: torch.mul, [_half(3, 4), _half(3, 1)], tolerance=(1e-3, 1e-3), needs_float=QUANTIZED),
    OpCase("div/number", lambda: lambda x: x / 3, [(2, 3, 4)]),
    OpCase("div/negative number", lambda: lambda x: x / -3, [(2, 3, 4)]),
    OpCase("div/number by", lambda: lambda x: 2 / x, [uniform((2, 9), 1, 3)]),
    OpCase("div/constant", lambda: lambda x: x / torch.tensor([3.0, -0.5, 2.0]), [(2, 3)]),
    OpCase("div/in place", lambda: lambda x, y: (x + 1).div_(y), [(2, 3), uniform((2, 3), *_AWAY_FROM_ZERO)]),
    OpCase(
        "div/int32",
        lambda: torch.div,
        [integers((3, 4), -99, 99, torch.int32), integers((4,), 1, 3, torch.int32)],
    ),
    OpCase("div/int32 number", lambda: lambda x: x / 4, [integers((3, 4), -99, 99, torch.int32)]),
    OpCase(
        "div/floor number",
        lambda: lambda x: torch.div(x, 0.7, rounding_mode="floor"),
        [(2, 3, 40)],
    ),
    OpCase(
        "div/trunc number",
        lambda: lambda x: torch.div(x, -0.7, rounding_mode="trunc"),
        [(2, 3, 40)],
    ),
    OpCase("div/no mode", lambda: lambda x: torch.div(x, 3, rounding_mode=None) + x, [(2, 3)]),
    OpCase(
        "div/floor int32",
        lambda: lambda x, y: torch.div(x, y, rounding_mode="floor"),
        [integers((8, 9), -99, 99, torch.int32), integers((9,), -9, -1, torch.int32)],
    ),
    OpCase(
        "div/trunc int32",
        lambda: lambda x: torch.div(x, 7, rounding_mode="trunc"),
        [integers((99,), -99, 99, torch.int32)],
    ),
    OpCase(
        "div/floor tensor",
        lambda: lambda x, y: torch.div(x, y, rounding_mode="floor"),
        [uniform((3, 9), -9, 9), uniform((3, 9), *_AWAY_FROM_ZERO)],
    ),
    OpCase(
        "remainder/tensor",
        lambda: torch.remainder,
        [uniform((3, 9), -9, 9), uniform((3, 9), *_AWAY_FROM_ZERO)],
    ),
    OpCase(
        "fmod/tensor",
        lambda: torch.fmod,
        [uniform((3, 9), -9, 9), uniform((3, 9), *_AWAY_FROM_ZERO)],
    ),
    OpCase("floor_divide/int32", lambda: lambda x: x // 7, [integers((99,), -99, 99, torch.int32)]),
    OpCase("floor_divide/large", lambda: lambda x: x // -7, [integers((99,), -(2**31) + 1, 2**31, torch.int32)]),
    OpCase("floor_divide/number", lambda: lambda x: x // 0.75, [uniform((99,), -9, 9)]),
    OpCase("remainder/number", lambda: lambda x: x % 0.75, [uniform((99,), -9, 9)]),
    OpCase("remainder/negative number", lambda: lambda x: x % -0.75, [uniform((99,), -9, 9)]),
    OpCase(
        "remainder/int32",
        lambda: torch.remainder,
        [integers((99,), -99, 99, torch.int32), integers((99,), -9, -1, torch.int32)],
    ),
    OpCase("remainder/int32 ends", lambda: lambda x: x % -3, [_ends]),
    OpCase("fmod/number", lambda: lambda x: torch.fmod(x, 0.75), [uniform((99,), -9, 9)]),
    OpCase("fmod/int32", lambda: lambda x: torch.fmod(x, 7), [integers((99,), -99, 99, torch.int32)]),
    OpCase("maximum/number", lambda: lambda x: torch.maximum(x, torch.tensor(0.3)), [(2, 3, 4)]),
    OpCase("maximum/other", lambda: torch.max, [(2, 3), (3,)]),
    OpCase("maximum/int8", lambda: torch.maximum, [integers((9,), -99, 99, torch.int8)] * 2),
    OpCase("maximum/int32", lambda: torch.maximum, [integers((9,), -99, 99, torch.int32)] * 2),
    OpCase("minimum/other", lambda: torch.min, [(2, 3), (3,)]),
    OpCase("minimum/constant", lambda: lambda x: torch.minimum(x, torch.linspace(-1, 1, 5)), [(2, 5)]),
    OpCase("pow/square", lambda: lambda x: x**2, [(3, 5)]),
    OpCase("pow/cube", lambda: lambda x: x**3, [(3, 5)]),
    OpCase("pow/zero", lambda: lambda x: x**0 + x, [(3, 5)]),
    OpCase("pow/one", lambda: lambda x: x**1 + x, [(3, 5)]),
    OpCase("pow/minus two", lambda: lambda x: x**-2, [uniform((3, 5), 1, 3)]),
    OpCase("pow/root", lambda: lambda x: x**0.5, [uniform((3, 5), 1, 3)]),
    OpCase("pow/fraction", lambda: lambda x: x**2.3, [uniform((3, 5), 0, 3)]),
    OpCase("pow/of number", lambda: lambda x: 2.0**x, [(3, 5)]),
    OpCase("pow/int32", lambda: lambda x: x**3, [integers((9,), -9, 9, torch.int32)]),
    OpCase("pow/tensors", lambda: torch.pow, [uniform((3, 5), 0.5, 3), (3, 5)], needs_float=QUANTIZED),
    OpCase("lerp/number", lambda: lambda x, y: torch.lerp(x, y, 0.3), [(3, 5), (3, 5)]),
    OpCase("lerp/tensor", lambda: torch.lerp, [(3, 5), (3, 5), uniform((5,), 0, 1)]),
    OpCase("addcmul", lambda: lambda x, y, z: torch.addcmul(x, y, z, value=0.5), [(3, 5), (3, 1), (5,)]),
    OpCase("hypot", lambda: torch.hypot, [(3, 5), (3, 5)]),
    OpCase("addcdiv", lambda: torch.addcdiv, [(3, 5), (3, 1), uniform((5,), *_AWAY_FROM_ZERO)]),
    OpCase("neg/int32", lambda: torch.neg, [integers((9,), -99, 99, torch.int32)]),
    OpCase("neg/int32 ends", lambda: torch.neg, [_ends]),
    OpCase("neg/int8", lambda: torch.neg, [integers((300,), -128, 128, torch.int8)]),
    OpCase("abs/int16", lambda: torch.abs, [integers((9,), -(2**15), 4 - 2**15, torch.int16)]),
    OpCase("abs/int32", lambda: torch.abs, [integers((9,), -99, 99, torch.int32)]),
    OpCase(
        "abs/uint8",
        lambda: torch.abs,
        [integers((9,), 0, 256, torch.uint8)],
        dict.fromkeys(_EVERYWHERE, "gives numbers without a sign as they are"),
    ),
    OpCase("abs/in place", lambda: lambda x: (x + 1).abs_(), [(3, 5)]),
    OpCase("exp/int32", lambda: torch.exp, [integers((9,), -9, 9, torch.int32)], needs_float=QUANTIZED),
    OpCase("floor/int32", lambda: lambda x: x.floor() + 1, [integers((9,), -9, 9, torch.int32)]),
    OpCase("sign/int32", lambda: torch.sign, [integers((9,), -3, 3, torch.int32)]),
    OpCase("exp/float16", lambda: torch.exp, [_half(3, 5)], tolerance=(2e-3, 1e-3), needs_float=QUANTIZED),
    OpCase("exp/channels_last", lambda: torch.exp, [channels_last((1, 3, 4, 5))]),
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
_unary = [
    OpCase(name, given(getattr(torch, name)), [uniform((3, 40), low, high)]) for name, (low, high) in _UNARY.items()
]
#: Functions with jumps.
_steps = [
    OpCase(name, given(getattr(torch, name)), [(3, 40)]) for name in ("ceil", "floor", "round", "sign", "trunc", "frac")
]

CASES: list[OpCase] = [*_broadcast, *_variants, *_unary, *_steps]
