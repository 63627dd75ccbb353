"""Remainders of reals, also of large quotients."""

from __future__ import annotations

import math

import torch

from ..lowering.op_builder import OpBuilder
from ..lowering.values import Value

#: Bits of the quotient that one step takes away. With as many, and as many of the number, products are exact.
_BITS = 11
#: Quotients below 2**33 are exact.
_STEPS = 3


def rest(b: OpBuilder, x: Value, number: float) -> Value:
    """``fmod(x, number)`` of float32, exact for quotients below 2**33; beyond, some number of the same range.

    Each step takes ``floor(x / m) * m`` away, for ``m`` the number times 2**22, 2**11 and 1. The number is split so
    that both products, and both differences, have at most 24 bits.
    """
    size = _float32(abs(number))
    residue = b.unary("ABS", x)
    for step in reversed(range(_STEPS)):
        multiple = size * 2.0 ** (_BITS * step)
        if multiple >= 2.0**127:
            continue
        high = _top_bits(multiple)
        quotient = b.unary("FLOOR", b.MUL(residue, 1 / multiple))
        residue = b.SUB(b.SUB(residue, b.MUL(quotient, high)), b.MUL(quotient, multiple - high))
    # The reciprocal is rounded: the last quotient may be off by one.
    residue = b.SELECT(b.compare("GREATER", 0.0, residue), b.ADD(residue, size), residue)
    residue = b.SELECT(b.compare("GREATER_EQUAL", residue, size), b.SUB(residue, size), residue)
    residue = b.clamp(residue, 0.0, _before(size))
    return b.SELECT(b.compare("GREATER", 0.0, x), b.NEGATE(residue), residue)


def angle(b: OpBuilder, x: Value) -> Value:
    """x less the nearest multiple of 2 pi: exact up to 50,000, with a few digits less for each further digit of x.

    Vulkan's SIN and COS are good only near 0; far from it their results have any size.
    """
    turns = b.unary("FLOOR", b.ADD(b.MUL(x, 0.5 / math.pi), 0.5))
    residue, pi2 = x, 2 * math.pi
    for bits in (_BITS, _BITS, 24):
        part = _top_bits(pi2, bits)
        residue, pi2 = b.SUB(residue, b.MUL(turns, part)), pi2 - part
    return residue


def _top_bits(number: float, bits: int = _BITS + 1) -> float:
    """The number rounded to so many bits."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(fraction, bits)), exponent - bits)


def _float32(number: float) -> float:
    return torch.tensor(number, dtype=torch.float32).item()


def _before(number: float) -> float:
    """The largest float32 below a positive one."""
    return torch.nextafter(torch.tensor(number), torch.tensor(0.0)).item()
