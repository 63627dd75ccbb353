"""Cases of the rules in ``rules/logic.py``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from ..case import HANDS_ON, QUANTIZED, OpCase, channels_last, given, integers, uniform

_INF = float("inf")
_LOWER = torch.ones(5, 5).tril().bool()
_RAMP = torch.linspace(-1, 1, 5)
_EVERYWHERE = ("fp32", "int8", "int16")
_UNKNOWN = dict.fromkeys(_EVERYWHERE, "int64 numbers whose range is not known")
_WIDE = dict.fromkeys(_EVERYWHERE, "int64 numbers of unknown range")
_BITS = dict.fromkeys(_EVERYWHERE, "reads int64, which TOSA has not")


def _bools(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    return integers(shape, 0, 2, torch.bool)


def _uint8(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    return integers(shape, 0, 256, torch.uint8)


def _int32(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    return integers(shape, -99, 99, torch.int32)


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": torch.eq, "ne": torch.ne, "gt": torch.gt, "ge": torch.ge, "lt": torch.lt, "le": torch.le,
}  # fmt: skip
_comparisons = [
    case
    for name, f in _COMPARISONS.items()
    for case in (
        OpCase(f"{name}/tensors", given(f), [(2, 3, 40), (3, 1)]),
        OpCase(f"{name}/itself", given(lambda x, f=f: f(x, x)), [(2, 3)]),
        OpCase(f"{name}/number", given(lambda x, f=f: f(x, 0.5)), [(2, 3, 40)]),
        OpCase(f"{name}/int32", given(f), [integers((40,), 0, 3, torch.int32)] * 2),
        OpCase(f"{name}/int8 number", given(lambda x, f=f: f(x, 1)), [integers((40,), 0, 3, torch.int8)]),
        OpCase(f"{name}/bool", given(f), [_bools(3, 9), _bools(9)]),
    )
]
_logic = [
    OpCase(f"logical_{name}/{kind}", given(f), inputs)
    for name, f in (("and", torch.logical_and), ("or", torch.logical_or), ("xor", torch.logical_xor))
    for kind, inputs in (
        ("bool", [_bools(3, 9), _bools(9)]),
        ("int32", [integers((9,), 0, 2, torch.int32)] * 2),
        ("float", [lambda g: torch.randint(0, 2, (9,), generator=g).float()] * 2),
        ("two types", [_bools(3, 9), integers((9,), 0, 2, torch.int32)]),
    )
]
_bits = [
    case
    for name, f in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor))
    for case in (
        OpCase(f"bitwise_{name}/int32", given(f), [_int32(3, 9), _int32(9)]),
        OpCase(f"bitwise_{name}/int8", given(f), [integers((9,), -128, 128, torch.int8)] * 2),
        OpCase(f"bitwise_{name}/bool", given(f), [_bools(3, 9), _bools(9)]),
        OpCase(f"bitwise_{name}/number", given(lambda x, f=f: f(x, 12)), [_int32(3, 9)]),
        OpCase(f"bitwise_{name}/bool and int32", given(f), [_bools(3, 9), _int32(9)]),
        OpCase(f"bitwise_{name}/int64", given(f), [integers((9,), 0, 9)] * 2, _BITS),
    )
]
_TYPES = {name: getattr(torch, name) for name in ("float32", "float16", "bool", "int8", "int16", "int32")}
_casts = [
    OpCase(
        f"to/{a} to {b}",
        given(lambda x, dtype=dtype: x.to(dtype)),
        [
            lambda g, source=source: (
                torch.randint(-80, 80, (40,), generator=g) * (0.3 if source.is_floating_point else 1)
            ).to(source)
        ],
        tolerance=(1e-3, 1e-3) if "float16" in (a, b) else (1e-6, 0),
        needs_float=QUANTIZED if b == "float32" or "float16" in (a, b) else (),
    )
    for a, source in _TYPES.items()
    for b, dtype in _TYPES.items()
    if a != b
]


def _beside(x: torch.Tensor) -> torch.Tensor:
    return x + torch.tensor([1.0, 0.5, -0.5, 0.0, 2.0])


def _nested(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.mean() > 1, lambda x: x + 1, lambda x: x * 2, (x,))  # type: ignore[no-any-return]


def _two_results(x: torch.Tensor, y: torch.Tensor) -> Any:
    def yes(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x + y, x * y

    def no(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x - y, x.sigmoid()

    return torch.cond((x * y).sum() > 0, yes, no, (x, y))


CASES: list[OpCase] = [
    *_comparisons,
    *_logic,
    *_bits,
    *_casts,
    OpCase("gt/beside a constant", lambda: lambda x: x > torch.linspace(-1, 1, 5), [(3, 5)]),
    OpCase("gt/far beyond", lambda: lambda x: x > 1e9, [(3, 5)]),
    OpCase("lt/infinity", lambda: lambda x: x < _INF, [(3, 5)]),
    # 255 / 255 of the scale that calibration finds, which is not 1 / 255
    OpCase("eq/one", lambda: lambda x: x == 1.0, [uniform((9,), 1, 1)]),
    OpCase("eq/int64", lambda: torch.eq, [integers((9,), 0, 9)] * 2, _UNKNOWN),
    OpCase("gt/float16", lambda: torch.gt, [lambda g: torch.randn(9, generator=g).half()] * 2, needs_float=QUANTIZED),
    OpCase("gt/float beside int32", lambda: torch.gt, [(9,), _int32(9)], needs_float=QUANTIZED),
    OpCase("isnan", lambda: torch.isnan, [(9,)], needs_float=QUANTIZED),
    OpCase("isinf", lambda: torch.isinf, [(9,)], needs_float=QUANTIZED),
    OpCase("logical_not/bool", lambda: torch.logical_not, [_bools(3, 9)]),
    OpCase("logical_not/int32", lambda: torch.logical_not, [integers((9,), 0, 2, torch.int32)]),
    OpCase("logical_not/float", lambda: torch.logical_not, [lambda g: torch.randint(0, 2, (9,), generator=g).float()]),
    OpCase("bitwise_not/bool", lambda: torch.bitwise_not, [_bools(3, 9)]),
    OpCase("bitwise_not/int32", lambda: torch.bitwise_not, [_int32(3, 9)]),
    OpCase("bitwise_not/int16", lambda: torch.bitwise_not, [integers((9,), -99, 99, torch.int16)]),
    OpCase("bitwise_not/int64", lambda: torch.bitwise_not, [integers((9,), 0, 9)], _UNKNOWN),
    OpCase("bitwise_shift/left", lambda: lambda x: x << 3, [_int32(9)]),
    OpCase("bitwise_shift/right", lambda: lambda x: x >> 2, [_int32(9)]),
    OpCase(
        "bitwise_shift/left tensor", lambda: torch.bitwise_left_shift, [_int32(3, 9), integers((9,), 0, 9, torch.int32)]
    ),
    OpCase(
        "bitwise_shift/right tensor",
        lambda: torch.bitwise_right_shift,
        [_int32(3, 9), integers((9,), 0, 9, torch.int32)],
    ),
    OpCase("bitwise_shift/int8", lambda: lambda x: x << 3, [integers((9,), -99, 99, torch.int8)]),
    OpCase(
        "bitwise_shift/left int8 by a tensor",
        lambda: torch.bitwise_left_shift,
        [integers((3, 9), -128, 128, torch.int8), integers((9,), 0, 8, torch.int8)],
    ),
    *(
        OpCase(
            f"bitwise_shift/{'left' if shift is torch.bitwise_left_shift else 'right'}, bits beyond int{bits}",
            given(shift),
            [integers((3, 9), -(2 ** (bits - 1)), 2 ** (bits - 1), dtype), integers((9,), -3, bits + 3, dtype)],
        )
        for shift in (torch.bitwise_left_shift, torch.bitwise_right_shift)
        for bits, dtype in ((8, torch.int8), (16, torch.int16), (32, torch.int32))
    ),
    OpCase("bitwise_shift/left by 8 of int8", lambda: lambda x: x << 8, [integers((9,), -99, 99, torch.int8)]),
    OpCase("bitwise_shift/right by 32", lambda: lambda x: x >> 32, [_int32(9)]),
    OpCase("bitwise_shift/left int16", lambda: lambda x: x << 11, [integers((2, 9), -999, 999, torch.int16)]),
    OpCase("bitwise_shift/int64", lambda: lambda x: x >> 2, [integers((9,), 0, 9)], _UNKNOWN),
    OpCase("where/tensors", lambda: torch.where, [_bools(2, 3, 4), (2, 3, 4), (2, 3, 4)]),
    OpCase(
        "where/chain",
        lambda: lambda x: torch.where(x < -1, x * 2, torch.where(x < 0, x * 3, torch.where(x < 1, x * 4, x))),
        [(30,)],
    ),
    OpCase("where/broadcast", lambda: torch.where, [_bools(3, 1), (2, 1, 4), (4,)]),
    OpCase("where/rank 0", lambda: torch.where, [_bools(), (), ()]),
    OpCase("where/rank 5", lambda: torch.where, [_bools(2, 1, 2, 1, 3), (2, 1, 2, 2, 3), (3,)]),
    OpCase("where/comparison", lambda: lambda x, y: torch.where(x > y, x, y * 0.5), [(2, 3, 4), (2, 3, 4)]),
    OpCase("where/far scales", lambda: torch.where, [_bools(9), uniform((9,), -1e-3, 1e-3), uniform((9,), -5, 5)]),
    OpCase("where/number", lambda: lambda c, x: torch.where(c, x, 0.0), [_bools(9), (9,)]),
    OpCase("where/number first", lambda: lambda c, x: torch.where(c, -1.5, x), [_bools(9), (9,)]),
    OpCase(
        "where/numbers", lambda: lambda c, x: torch.where(c, 1.0, -1.0) * x, [_bools(9), (9,)], needs_float=QUANTIZED
    ),
    OpCase("where/constant", lambda: lambda c, x: torch.where(c, x, torch.linspace(0, 1, 9)), [_bools(9), (9,)]),
    OpCase("where/minus infinity", lambda: lambda c, x: torch.where(c, x, -_INF), [_bools(9), (9,)]),
    OpCase("where/constant condition", lambda: lambda x: torch.where(_LOWER, x, 0), [(2, 5, 5)]),
    OpCase("where/constant condition, constant", lambda: lambda x: torch.where(_LOWER, x, _RAMP), [(2, 5, 5)]),
    OpCase("where/constant condition, constant first", lambda: lambda x: torch.where(_LOWER, _RAMP, x), [(2, 5, 5)]),
    OpCase("where/constant condition, tensors", lambda: lambda x, y: torch.where(_LOWER, x, y), [(2, 5, 5), (5,)]),
    OpCase("where/channels_last", lambda: torch.where, [_bools(1, 3, 4, 5), channels_last((1, 3, 4, 5)), (3, 1, 1)]),
    OpCase("where/int32", lambda: torch.where, [_bools(9), _int32(9), _int32(9)]),
    OpCase("where/bool", lambda: torch.where, [_bools(9), _bools(9), _bools(9)]),
    OpCase("where/int32 beside float", lambda: torch.where, [_bools(9), _int32(9), (9,)]),
    OpCase("masked_fill/number", lambda: lambda x, m: x.masked_fill(m, 0.25), [(2, 3, 4), _bools(3, 4)]),
    OpCase("masked_fill/minus infinity", lambda: lambda x, m: x.masked_fill(m, -_INF), [(2, 3, 4), _bools(3, 4)]),
    OpCase("masked_fill/least", lambda: lambda x, m: x.masked_fill(m, torch.finfo().min), [(2, 3, 4), _bools(3, 4)]),
    OpCase("masked_fill/tensor", lambda: lambda x, m: x.masked_fill(m, torch.tensor(0.5)), [(2, 3, 4), _bools(3, 4)]),
    OpCase("masked_fill/causal", lambda: lambda x: x.masked_fill(~torch.ones(5, 5).tril().bool(), -_INF), [(2, 5, 5)]),
    OpCase("masked_fill/in place", lambda: lambda x, m: (x + 1).masked_fill_(m, 0.25), [(2, 3), _bools(2, 3)]),
    OpCase("masked_fill/int32", lambda: lambda x, m: x.masked_fill(m, 7), [_int32(9), _bools(9)]),
    OpCase("to/uint8 to float32", lambda: lambda x: x.float(), [_uint8(9)], needs_float=QUANTIZED),
    OpCase("to/uint8 to int16", lambda: lambda x: x.short(), [_uint8(9)]),
    OpCase("to/uint8 to int32", lambda: lambda x: x.int() * 3, [_uint8(9)]),
    OpCase("to/uint8 to int64", lambda: lambda x: x.long() * 3, [_uint8(9)]),
    OpCase("to/uint8 to int8", lambda: lambda x: x.char(), [_uint8(9)]),
    OpCase("to/uint8 from int32", lambda: lambda x: x.byte(), [_int32(9)]),
    OpCase("to/uint8 from float", lambda: lambda x: (x.abs() * 60).byte(), [(9,)]),
    OpCase("to/uint8 from bool", lambda: lambda x: (x > 0).byte(), [_int32(9)]),
    OpCase("to/uint8 image", lambda: lambda x: (x.permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.2, [_uint8(1, 3, 4, 3)]),
    OpCase("to/int64 from bool", lambda: lambda x: (x > 0).to(torch.int64) * 3, [(9,)]),
    OpCase("to/int64 from int32", lambda: lambda x: (x + 1).long(), [_int32(9)]),
    OpCase("to/int64 from float", lambda: lambda x: (x * 9).int().long().int(), [(9,)]),
    OpCase("neg/int64", lambda: lambda x: -x.long() + 1, [_int32(9)], dict.fromkeys(_EVERYWHERE, "may not fit int32")),
    OpCase("to/int64 to float", lambda: lambda x: x.float(), [integers((9,), 0, 9)], _WIDE),
    OpCase("to/int64 to bool", lambda: lambda x: x.bool(), [integers((9,), 0, 9)], _WIDE),
    OpCase("to/int64 to int32", lambda: lambda x: x.int() + 1, [integers((9,), 0, 9)]),
    OpCase("to/same", lambda: lambda x: x.to(torch.float32) + 1, [(9,)]),
    OpCase("to/type_as", lambda: lambda x, y: x.type_as(y) + y, [_int32(9), (9,)]),
    OpCase(
        "to/float64",
        lambda: lambda x: (x + 1).double(),
        [(9,)],
        {"fp32": "no type float64", **dict.fromkeys(QUANTIZED, "float64")},
    ),
    OpCase("to/nothing left", lambda: lambda x: x.to(torch.float32), [(9,)], {"fp32": HANDS_ON}),
    OpCase(
        "cond/function", lambda: lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)), [(3, 5)]
    ),
    OpCase("cond/constant", lambda: lambda x: torch.cond(x.sum() > 0, _beside, lambda x: x * 2, (x,)), [(3, 5)]),
    OpCase("cond/nested", lambda: lambda x: torch.cond(x.sum() > 0, _nested, lambda x: x - 1, (x,)), [(3, 5)]),
    OpCase("cond/two results", lambda: _two_results, [(3, 5), (3, 5)]),
]
