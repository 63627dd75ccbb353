"""Cases of the rules in ``rules/logic.py``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from ..case import HANDS_ON, QUANTIZED, OpCase, bools, channels_last, half, int32, integers, refused, row, uniform

_INF = float("inf")
_LOWER = torch.ones(5, 5).tril().bool()
_RAMP = torch.linspace(-1, 1, 5)
_UNKNOWN = refused("int64 numbers whose range is not known")
_WIDE = refused("int64 numbers of unknown range")
_BITS = refused("reads int64, which TOSA has not")


def _uint8(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    return integers(shape, 0, 256, torch.uint8)


def _int32(*shape: int) -> Callable[[torch.Generator], torch.Tensor]:
    return int32(shape, -99, 99)


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": torch.eq, "ne": torch.ne, "gt": torch.gt, "ge": torch.ge, "lt": torch.lt, "le": torch.le,
}  # fmt: skip
_comparisons = [
    case
    for name, f in _COMPARISONS.items()
    for case in (
        row(f"{name}/tensors", f, [(2, 3, 40), (3, 1)]),
        row(f"{name}/itself", lambda x, f=f: f(x, x), [(2, 3)]),
        row(f"{name}/number", lambda x, f=f: f(x, 0.5), [(2, 3, 40)]),
        row(f"{name}/int32", f, [int32((40,), 0, 3)] * 2),
        row(f"{name}/int8 number", lambda x, f=f: f(x, 1), [integers((40,), 0, 3, torch.int8)]),
        row(f"{name}/bool", f, [bools(3, 9), bools(9)]),
        row(f"{name}/number that wraps", lambda x, f=f: f(x, 300), [_uint8(99)]),
    )
]
_logic = [
    row(f"logical_{name}/{kind}", f, inputs)
    for name, f in (("and", torch.logical_and), ("or", torch.logical_or), ("xor", torch.logical_xor))
    for kind, inputs in (
        ("bool", [bools(3, 9), bools(9)]),
        ("int32", [int32((9,), 0, 2)] * 2),
        ("float", [lambda g: torch.randint(0, 2, (9,), generator=g).float()] * 2),
        ("two types", [bools(3, 9), int32((9,), 0, 2)]),
    )
]
_bits = [
    case
    for name, f in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor))
    for case in (
        row(f"bitwise_{name}/int32", f, [_int32(3, 9), _int32(9)]),
        row(f"bitwise_{name}/int8", f, [integers((9,), -128, 128, torch.int8)] * 2),
        row(f"bitwise_{name}/bool", f, [bools(3, 9), bools(9)]),
        row(f"bitwise_{name}/number", lambda x, f=f: f(x, 12), [_int32(3, 9)]),
        row(f"bitwise_{name}/bool and int32", f, [bools(3, 9), _int32(9)]),
        row(f"bitwise_{name}/number that wraps", lambda x, f=f: f(x, 3000000000), [_int32(3, 9)]),
        row(f"bitwise_{name}/int64", f, [integers((9,), 0, 9)] * 2, _BITS),
    )
]
_TYPES = {name: getattr(torch, name) for name in ("float32", "float16", "bool", "int8", "int16", "int32")}
_casts = [
    row(
        f"to/{a} to {b}",
        lambda x, dtype=dtype: x.to(dtype),
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
    row("gt/beside a constant", lambda x: x > torch.linspace(-1, 1, 5), [(3, 5)]),
    row("gt/far beyond", lambda x: x > 1e9, [(3, 5)]),
    row("lt/infinity", lambda x: x < _INF, [(3, 5)]),
    # 255 / 255 of the scale that calibration finds, which is not 1 / 255
    row("eq/one", lambda x: x == 1.0, [uniform((9,), 1, 1)]),
    row("eq/int64", torch.eq, [integers((9,), 0, 9)] * 2, _UNKNOWN),
    row("gt/float16", torch.gt, [half(9)] * 2, needs_float=QUANTIZED),
    row("gt/float beside int32", torch.gt, [(9,), _int32(9)], needs_float=QUANTIZED),
    row("isnan", torch.isnan, [(9,)], needs_float=QUANTIZED),
    row("isinf", torch.isinf, [(9,)], needs_float=QUANTIZED),
    row("logical_not/bool", torch.logical_not, [bools(3, 9)]),
    row("logical_not/int32", torch.logical_not, [int32((9,), 0, 2)]),
    row("logical_not/float", torch.logical_not, [lambda g: torch.randint(0, 2, (9,), generator=g).float()]),
    row("bitwise_not/bool", torch.bitwise_not, [bools(3, 9)]),
    row("bitwise_not/int32", torch.bitwise_not, [_int32(3, 9)]),
    row("bitwise_not/int16", torch.bitwise_not, [integers((9,), -99, 99, torch.int16)]),
    row("bitwise_not/int64", torch.bitwise_not, [integers((9,), 0, 9)], _UNKNOWN),
    row("bitwise_shift/left", lambda x: x << 3, [_int32(9)]),
    row("bitwise_shift/right", lambda x: x >> 2, [_int32(9)]),
    row("bitwise_shift/left tensor", torch.bitwise_left_shift, [_int32(3, 9), int32((9,), 0, 9)]),
    row("bitwise_shift/right tensor", torch.bitwise_right_shift, [_int32(3, 9), int32((9,), 0, 9)]),
    row("bitwise_shift/int8", lambda x: x << 3, [integers((9,), -99, 99, torch.int8)]),
    row(
        "bitwise_shift/left int8 by a tensor",
        torch.bitwise_left_shift,
        [integers((3, 9), -128, 128, torch.int8), integers((9,), 0, 8, torch.int8)],
    ),
    *(
        row(
            f"bitwise_shift/{'left' if shift is torch.bitwise_left_shift else 'right'}, bits beyond int{bits}",
            shift,
            [integers((3, 9), -(2 ** (bits - 1)), 2 ** (bits - 1), dtype), integers((9,), -3, bits + 3, dtype)],
        )
        for shift in (torch.bitwise_left_shift, torch.bitwise_right_shift)
        for bits, dtype in ((8, torch.int8), (16, torch.int16), (32, torch.int32))
    ),
    row("bitwise_shift/left by 8 of int8", lambda x: x << 8, [integers((9,), -99, 99, torch.int8)]),
    row("bitwise_shift/right by 32", lambda x: x >> 32, [_int32(9)]),
    row("bitwise_shift/left int16", lambda x: x << 11, [integers((2, 9), -999, 999, torch.int16)]),
    row("bitwise_shift/int64", lambda x: x >> 2, [integers((9,), 0, 9)], _BITS),
    row("where/tensors", torch.where, [bools(2, 3, 4), (2, 3, 4), (2, 3, 4)]),
    row(
        "where/chain",
        lambda x: torch.where(x < -1, x * 2, torch.where(x < 0, x * 3, torch.where(x < 1, x * 4, x))),
        [(30,)],
    ),
    row("where/broadcast", torch.where, [bools(3, 1), (2, 1, 4), (4,)]),
    row("where/rank 0", torch.where, [bools(), (), ()]),
    row("where/rank 5", torch.where, [bools(2, 1, 2, 1, 3), (2, 1, 2, 2, 3), (3,)]),
    row("where/comparison", lambda x, y: torch.where(x > y, x, y * 0.5), [(2, 3, 4), (2, 3, 4)]),
    row("where/far scales", torch.where, [bools(9), uniform((9,), -1e-3, 1e-3), uniform((9,), -5, 5)]),
    row("where/number", lambda c, x: torch.where(c, x, 0.0), [bools(9), (9,)]),
    row("where/number first", lambda c, x: torch.where(c, -1.5, x), [bools(9), (9,)]),
    row("where/numbers", lambda c, x: torch.where(c, 1.0, -1.0) * x, [bools(9), (9,)], needs_float=QUANTIZED),
    row("where/constant", lambda c, x: torch.where(c, x, torch.linspace(0, 1, 9)), [bools(9), (9,)]),
    row("where/minus infinity", lambda c, x: torch.where(c, x, -_INF), [bools(9), (9,)]),
    row("where/constant condition", lambda x: torch.where(_LOWER, x, 0), [(2, 5, 5)]),
    row("where/constant condition, constant", lambda x: torch.where(_LOWER, x, _RAMP), [(2, 5, 5)]),
    row("where/constant condition, constant first", lambda x: torch.where(_LOWER, _RAMP, x), [(2, 5, 5)]),
    row("where/constant condition, tensors", lambda x, y: torch.where(_LOWER, x, y), [(2, 5, 5), (5,)]),
    row("where/channels_last", torch.where, [bools(1, 3, 4, 5), channels_last((1, 3, 4, 5)), (3, 1, 1)]),
    row("where/int32", torch.where, [bools(9), _int32(9), _int32(9)]),
    row("where/bool", torch.where, [bools(9), bools(9), bools(9)]),
    row("where/int32 beside float", torch.where, [bools(9), _int32(9), (9,)]),
    row("masked_fill/number", lambda x, m: x.masked_fill(m, 0.25), [(2, 3, 4), bools(3, 4)]),
    row("masked_fill/minus infinity", lambda x, m: x.masked_fill(m, -_INF), [(2, 3, 4), bools(3, 4)]),
    row("masked_fill/least", lambda x, m: x.masked_fill(m, torch.finfo().min), [(2, 3, 4), bools(3, 4)]),
    row("masked_fill/tensor", lambda x, m: x.masked_fill(m, torch.tensor(0.5)), [(2, 3, 4), bools(3, 4)]),
    row("masked_fill/causal", lambda x: x.masked_fill(~torch.ones(5, 5).tril().bool(), -_INF), [(2, 5, 5)]),
    row("masked_fill/in place", lambda x, m: (x + 1).masked_fill_(m, 0.25), [(2, 3), bools(2, 3)]),
    row("masked_fill/int32", lambda x, m: x.masked_fill(m, 7), [_int32(9), bools(9)]),
    row("to/uint8 to float32", lambda x: x.float(), [_uint8(9)], needs_float=QUANTIZED),
    row("to/uint8 to int16", lambda x: x.short(), [_uint8(9)]),
    row("to/uint8 to int32", lambda x: x.int() * 3, [_uint8(9)]),
    row("to/uint8 to int64", lambda x: x.long() * 3, [_uint8(9)]),
    row("to/uint8 to int8", lambda x: x.char(), [_uint8(9)]),
    row("to/uint8 from int32", lambda x: x.byte(), [_int32(9)]),
    row("to/uint8 from float", lambda x: (x.abs() * 60).byte(), [(9,)]),
    row("to/uint8 from bool", lambda x: (x > 0).byte(), [_int32(9)]),
    row("to/uint8 image", lambda x: (x.permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.2, [_uint8(1, 3, 4, 3)]),
    row("to/int64 from bool", lambda x: (x > 0).to(torch.int64) * 3, [(9,)]),
    row("to/int64 from int32", lambda x: (x + 1).long(), [_int32(9)]),
    row("to/int64 from float", lambda x: (x * 9).int().long().int(), [(9,)]),
    row("neg/int64", lambda x: -x.long() + 1, [_int32(9)], refused("may not fit int32")),
    row("to/int64 to float", lambda x: x.float(), [integers((9,), 0, 9)], _WIDE),
    row("to/int64 to bool", lambda x: x.bool(), [integers((9,), 0, 9)], _WIDE),
    row("to/int64 to int32", lambda x: x.int() + 1, [integers((9,), 0, 9)]),
    row("to/same", lambda x: x.to(torch.float32) + 1, [(9,)]),
    row("to/type_as", lambda x, y: x.type_as(y) + y, [_int32(9), (9,)]),
    row(
        "to/float64",
        lambda x: (x + 1).double(),
        [(9,)],
        {"fp32": "no type float64", **dict.fromkeys(QUANTIZED, "float64")},
    ),
    row(
        "to/float64 of bools",
        lambda x: (x > 0).double() + 0.1,
        [_int32(9)],
        dict.fromkeys(("fp32", *QUANTIZED), "no type float64"),
    ),
    row("to/nothing left", lambda x: x.to(torch.float32), [(9,)], {"fp32": HANDS_ON}),
    row("cond/function", lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)), [(3, 5)]),
    row("cond/constant", lambda x: torch.cond(x.sum() > 0, _beside, lambda x: x * 2, (x,)), [(3, 5)]),
    row("cond/nested", lambda x: torch.cond(x.sum() > 0, _nested, lambda x: x - 1, (x,)), [(3, 5)]),
    row("cond/two results", _two_results, [(3, 5), (3, 5)]),
]
