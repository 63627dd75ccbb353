"""Fills the holes of a statement's text from the values that a program has so far."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

import torch

_HOLE = re.compile(r"\{([^{}]*)\}")
_CONSTANTS = ("0.0", "0.5", "-1.0", "2.0", "0.1", "1.0", "-0.25", "3", "1e-4")
#: Holes that stand for one thing throughout a statement.
_KEPT = re.compile(r"(x\d*|y|same|n|m|mod|out2?|counter|(param|buffer)\(.*\))$")


class NothingFits(Exception):
    """There is no value for a hole."""


class Holes:
    """The holes of one statement.

    Args:
        random: draws.
        values: tensors by name, the latest last.
        number: of the next value; modules and parameters are called by it too.
    """

    def __init__(self, random: random.Random, values: Mapping[str, torch.Tensor], number: int) -> None:
        self.random, self.values, self.number = random, values, number
        self.first: torch.Tensor | None = None
        self.init: list[str] = []
        self._kept: dict[str, str] = {}

    def fill(self, text: str) -> str:
        """The text with all holes filled, from left to right."""
        return _HOLE.sub(lambda found: self._filled(found[1]), text)

    def _filled(self, hole: str) -> str:
        if hole in self._kept:
            return self._kept[hole]
        made = self._made(hole)
        if _KEPT.match(hole):
            self._kept[hole] = made
        return made

    def _made(self, hole: str) -> str:
        draw = self.random
        if "|" in hole:
            return draw.choice(hole.split("|"))
        if hole in ("out", "out2"):
            return f"v{self.number + (hole == 'out2')}"
        if hole == "mod":
            return f"self.m{self.number}"
        if hole.startswith(("param", "buffer")):
            return self._stored(hole)
        if hole == "counter":
            return self._registered(f"torch.tensor({draw.choice(('0', '2', '0, dtype=torch.int32'))})")
        if hole == "c":
            return draw.choice(_CONSTANTS)
        if re.fullmatch(r"x\d*|y|n|m", hole):
            return self._value(hole)
        if self.first is None:
            raise NothingFits(hole)
        shape = list(self.first.shape)
        if hole == "same":
            return self._value(hole)
        if hole == "d":
            return str(draw.randrange(-len(shape), len(shape))) if shape else "0"
        if hole == "perm":
            return ", ".join(map(str, draw.sample(range(len(shape)), len(shape))))
        if hole == "shape":
            return self._factors(self.first.numel())
        sizes = {"B": shape[:1], "C": shape[1:2], "L": shape[-1:]}[hole]
        if not sizes:
            raise NothingFits(hole)
        return str(sizes[0])

    def _value(self, hole: str) -> str:
        """The name of a value: late ones and those that are not row-major are drawn more often."""

        names = [name for name, value in self.values.items() if self._fits(hole, value)]
        if not names:
            raise NothingFits(hole)
        weights = [
            (1 + 3 * (place >= len(names) - 3)) * (1 if self.values[name].is_contiguous() else 2)
            for place, name in enumerate(names)
        ]
        (name,) = self.random.choices(names, weights)
        if self.first is None:
            self.first = self.values[name]
        return name

    def _fits(self, hole: str, value: torch.Tensor) -> bool:
        if hole == "m":
            return value.dtype == torch.bool
        if hole == "n":
            return not value.is_floating_point() and value.dtype != torch.bool
        if hole == "same" and (self.first is None or value.shape != self.first.shape):
            return False
        ranks = [int(digit) for digit in hole[1:]] if hole.startswith("x") else []
        return value.is_floating_point() and (not ranks or value.dim() in ranks)

    def _stored(self, hole: str) -> str:
        """A parameter or a buffer of the shape in the hole, registered in ``init``."""
        kind, sizes = hole.rstrip(")").split("(")
        shape = [self._filled(size.strip()) if size.strip().isalpha() else size.strip() for size in sizes.split(",")]
        made = f"torch.randn({', '.join(shape)})"
        if kind == "param":
            name = f"p{self.number}_{len(self.init)}"
            self.init.append(f"self.{name} = nn.Parameter({made})")
            return f"self.{name}"
        return self._registered(
            self.random.choice(
                (made, made, f"torch.zeros({', '.join(shape)})", f"torch.full(({', '.join(shape)},), 2.0)")
            )
        )

    def _registered(self, made: str) -> str:
        """A buffer that starts with what is made."""
        name = f"b{self.number}_{len(self.init)}"
        self.init.append(f'self.register_buffer("{name}", {made})')
        return f"self.{name}"

    def _factors(self, count: int) -> str:
        sizes: list[int] = []
        for _ in range(self.random.choice((1, 2, 2, 3))):
            divisors = [n for n in range(1, count + 1) if count % n == 0]
            sizes.append(self.random.choice(divisors))
            count //= sizes[-1]
        sizes.append(self.random.choice((count, -1)))
        self.random.shuffle(sizes)
        return ", ".join(map(str, sizes))
