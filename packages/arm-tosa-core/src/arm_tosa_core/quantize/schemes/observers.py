"""The observer of activations: a histogram, and the range of least squared error that it says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...compat.torchao import RangeObserver
from ...lowering.values import least_unbounded, unbounded
from ...support.errors import UsageError
from .factors import Factors

#: How far beyond the other numbers a mask lies for a quantized model: exp(-8) is less than a step of 8 bits.
MARGIN = 8.0
#: How far beyond zeros, and beyond zeros and ones: what a mask is added to may lie far apart, and these need no fine
#: steps.
_FROM_ZEROS, _FROM_ONES = 1024.0, 64.0
#: How far below the largest number of a row a softmax of 8 bits tells numbers apart: of exp(-9.5), 50 are no step.
_FAINT = 9.5

#: The range is widened by this over the root of how many numbers were seen, and reaches to the other side of 0 by this
#: over their number: few of one sign say little about the sign of the next.
_FEW = 4.0

#: Where samples tell how far they reach, the next one reaches no farther than this many mean distances between two.
_SPACINGS = 2.0
_TIE = 1 - 2**-20
_BYTE = 255  # steps of 8 bits

#: The range of more than 8 bits is widened by this as well: a number beyond what calibration has shown costs far more
#: than a bit that all others lose.
_HEAD_ROOM = 2.0

#: Reach of a tensor of which nothing but zeros was seen.
_OF_ZEROS = 2**-8

#: Fractions of the observed extremes that are tried: how many, and the least.
_TRIED, _LEAST = 96, 0.05


@dataclass(frozen=True)
class Row:
    """How much of a tensor a softmax tells apart that reads it.

    Args:
        axis: of the softmax, counted from the end; None where something else reads the tensor too.
        depth: numbers that are farther below the largest along the axis count as one.
        masks: numbers that stand where nothing counts, which calibration may not have shown.
    """

    axis: int | None
    depth: float
    masks: tuple[float, ...] = ()

    def of_steps(self, steps: int) -> Row:
        """What is told apart by a softmax that has so many steps."""
        return self if steps > _BYTE else replace(self, depth=min(self.depth, _FAINT))

    def bounded(self, x: torch.Tensor) -> torch.Tensor:
        """A tensor without numbers that are farther below than is told apart: of one with other readers, masks alone.

        Gradients go to the numbers that stay.
        """
        masked = unbounded(x) | torch.isin(x.detach(), x.new_tensor(self.masks))
        others = torch.where(masked, -math.inf, x.detach())
        top = others.max().clamp(min=torch.finfo(x.dtype).min)
        if self.axis is None:
            return torch.where(masked & (x < top - self.depth), top - self.depth, x)
        largest = others.amax(self.axis, keepdim=True)
        return torch.maximum(x, torch.where(largest.isinf(), top, largest) - self.depth)

    def floor(self, top: float) -> float:
        """What the range has to reach down to where masks may come and ``top`` is the largest number."""
        return max(top - self.depth, min(self.masks)) if self.masks else math.inf


def without_masks(x: torch.Tensor, far: float = 0.0) -> torch.Tensor:
    """A tensor as its range has to be: what means "infinite", or is ``far``, lies a margin beyond 0 and the others."""
    masked = unbounded(x, far)
    if not masked.any():
        return x
    others = x.detach()[~masked]
    low, high = torch.cat([others, x.new_zeros(1)]).aminmax()
    return torch.where(masked, torch.where(x.detach() > 0, high + MARGIN, low - MARGIN), x)


class MaskedHistogramObserver(RangeObserver):
    """A histogram in which the infinities of attention masks, or what stands for them, do not stretch the scale.

    The range is the one of least squared error, which is searched for exactly. It is widened where few numbers were
    seen: those to come lie further out, and may have the other sign. Numbers that are nearly alike count as one, which
    doubles the range at most, unless one sample reaches about as far as the next. There is more room where there are
    more than 8 bits. Where a single number was seen, the scale divides it: it is represented exactly.

    Numbers that are ``unbounded`` count as a little beyond the least and greatest of the others. In the
    quantized model they saturate there.

    Args:
        bounds: which the numbers do not exceed, such as those of a clamp. The range is not widened beyond.
        row: how much of the tensor a softmax tells apart that reads it.
        far: a number that may stand where nothing counts, if it lies far from all others; 0: there is none.
        factor: whether the tensor is the factor of a norm: the range is the one of least relative error.
    """

    def __init__(
        self,
        *,
        bounds: tuple[float, float] = (-math.inf, math.inf),
        row: Row | None = None,
        far: float = 0.0,
        factor: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._bounds = bounds
        self._factors = Factors(self.quant_max - self.quant_min) if factor else None
        self._row = row and row.of_steps(self.quant_max - self.quant_min)
        self._far = far
        #: How far numbers that mean "infinite" lie beyond all others that were seen.
        self._reach = _FROM_ZEROS
        #: The signs of these numbers.
        self._masks: set[float] = set()
        self._count = self._zeros = 0
        #: How often a tensor had numbers that mean "infinite".
        self.masked = 0
        #: Whether numbers were seen that do not mean "infinite".
        self._others = False
        #: How many independent numbers a sample has that reaches so far and has so many numbers beyond a quarter of it.
        #: Views of one tensor, which share an observer, are one sample by that.
        self._samples: dict[tuple[float, int], float] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Observes; returns ``x`` as it is.

        Raises:
            UsageError: a number is NaN.
        """
        if not x.numel():
            return x
        numbers = x.detach() if self._row is None else self._row.bounded(x.detach())
        low, high = map(float, numbers.aminmax())
        if math.isnan(low):
            raise UsageError(
                f"calibration: {int(torch.isnan(x).sum())} of the {x.numel()} numbers of a tensor of shape "
                f"{list(x.shape)} are NaN: look for NaN in the calibration data, and for what makes it in the model"
            )
        seen, reach = numbers, max(-low, high)
        if reach >= least_unbounded(self._far):
            masked = self.infinite(numbers)
            self._see_masks(numbers[masked], numbers[~masked])
            seen = without_masks(numbers, self._far)
            reach = float(seen.abs().max())
        else:
            self._see_masks(numbers.new_empty(0), numbers)
        self._zeros += seen.numel() - int(seen.count_nonzero())
        self._count += seen.numel()
        sample = (reach, int((seen > reach / 4).sum()))
        self._samples[sample] = min(_independent(seen), self._samples.get(sample, math.inf))
        if self._factors is not None:
            self._factors.add(seen)
        super().forward(seen)
        return x

    def _see_masks(self, masks: torch.Tensor, others: torch.Tensor) -> None:
        """Takes the numbers that mean "infinite", and the others."""
        self.masked += masks.numel() > 0
        self._others = self._others or others.numel() > 0
        if self._reach > MARGIN:
            self._masks |= set(masks.sign().tolist())
            far = _FROM_ZEROS if not others.any() else _FROM_ONES if ((others == 0) | (others == 1)).all() else MARGIN
            self._reach = min(self._reach, far)

    def infinite(self, x: torch.Tensor) -> torch.Tensor:
        """Which numbers mean "infinite" to it: they lie too far from the others to count."""
        return unbounded(x, self._far)

    @property
    def saturates(self) -> bool:
        """Whether numbers were seen that mean "infinite"."""
        return self.masked > 0

    @property
    def zeros(self) -> int:
        """How many of the numbers seen were 0."""
        return self._zeros

    @property
    def all_zeros(self) -> bool:
        """Whether numbers were seen, and none but 0."""
        return 0 < self._zeros == self._count

    @property
    def all_masks(self) -> bool:
        """Whether numbers were seen, and none but those that mean "infinite"."""
        return self._count > 0 and not self._others

    def _spread(self) -> float:
        """How much farther the next sample may reach, in parts of the farthest, by how much those seen differ."""
        if len(self._samples) < 2:
            return math.inf
        least, greatest = min(self._samples)[0], max(self._samples)[0]
        return _SPACINGS * (1 - least / greatest) / (len(self._samples) - 1)

    def symmetric_scale(self, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        """The largest real is the largest integer: torchao makes it half an integer more."""
        return torch.maximum(-low, high) / float(self.quant_max)

    def chosen_range(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The least and greatest real to represent; torchao's own search ends at the first minimum it meets."""
        low, high = float(self.min_val), float(self.max_val)
        symmetric = self.qscheme == torch.per_tensor_symmetric
        if low == high == 0:
            return self.min_val, self.max_val + _OF_ZEROS
        if high == low and self._count != 1:  # again and again: an end of the range, so that it stays what it is
            return self.min_val.clamp(max=0.0), self.max_val.clamp(min=0.0)
        if high > low:
            low, high = _least_error(
                self.histogram.double(), low, high, self._zeros, self.quant_max - self.quant_min, symmetric
            )
        else:
            low, high = min(low, 0.0), max(high, 0.0)
        if self._factors is not None:
            reach = self._factors.reach()
            low, high = max(low, -reach), min(high, reach)
        if symmetric:  # one of the ends may be known, or be 0
            low, high = max(low, min(float(self.min_val), 0.0)), min(high, max(float(self.max_val), 0.0))
        numbers = max(self._count - self._zeros, 1)
        alike = min(1.0, _FEW / math.sqrt(max(sum(self._samples.values()), 1)))
        margin = 1 + max(_FEW / math.sqrt(numbers), min(alike, self._spread()))
        margin *= _HEAD_ROOM if self.quant_max - self.quant_min > _BYTE else 1.0
        beyond = min(margin, _FEW / numbers) * max(-low, high)
        least, greatest = self._bounds
        low, high = (
            max(min(low * margin, -beyond), min(least, low)),
            min(max(high * margin, beyond), max(greatest, high)),
        )
        if self._row is not None:
            low = min(low, self._row.floor(float(self.max_val)))
        if self._reach > MARGIN:
            low, high = -self._reach if -1 in self._masks else low, self._reach if 1 in self._masks else high
        if self._count == 1:
            scale = max(-low, high) / self.quant_max if symmetric else (high - low) / (self.quant_max - self.quant_min)
            exact = _dividing(abs(float(self.max_val)), scale) / scale
            if least <= low * exact and high * exact <= greatest:
                return self.min_val.new_tensor(low * exact), self.max_val.new_tensor(high * exact)
        # Of equal bounds, such as -1 and 1, the zero point lies between two integers. With the lower one both bounds
        # are the ends of the integers, which saves a CLAMP.
        return self.min_val.new_tensor(low * _TIE), self.max_val.new_tensor(high * _TIE)


def _dividing(number: float, scale: float) -> float:
    """The least scale, no less than another, that divides a number; the number itself if it is less than a step."""
    return number / max(math.floor(number / scale * _TIE), 1)


def _independent(x: torch.Tensor) -> float:
    """How many numbers there are when those that are alike along an axis count once.

    Tokens of a transformer, and the positions of a picture, may differ by a thousandth of what they have in common.
    Another input moves what they have in common, and so all of them at once.
    """
    squares = float(x.float().square().sum())
    if not squares:
        return float(x.numel())
    size = 1.0
    for axis, length in enumerate(x.shape):
        if length == 1:
            continue
        common = length * float(x.float().mean(axis).square().sum()) / squares
        size *= 1 + (length - 1) * max(0.0, 1 - common)
    return size


def _least_error(
    counts: torch.Tensor, low: float, high: float, zeros: int, steps: int, symmetric: bool
) -> tuple[float, float]:
    """The range, 0 included, with which ``steps`` equal steps represent a histogram with the least squared error.

    Args:
        counts: of equal bins from ``low`` to ``high``.
        zeros: how many of the numbers are 0, which any range represents exactly.
    """
    width = (high - low) / len(counts)
    middles = low + width * (torch.arange(len(counts), dtype=torch.float64) + 0.5)
    powers = torch.stack([counts, counts * middles, counts * middles**2])
    below = torch.cat([torch.zeros(3, 1, dtype=torch.float64), powers.cumsum(1)], 1)  # sums of the bins before an edge
    total = below[:, -1:]
    fractions = torch.linspace(_LEAST, 1.0, _TRIED, dtype=torch.float64)
    bottoms, tops = fractions * min(low, 0.0), fractions * max(high, 0.0)
    bottoms, tops = (ends if ends[-1] else ends[:1] for ends in (bottoms, tops))  # all are 0
    if symmetric:
        tops = fractions * max(-low, high)
        bottoms = -tops

    def sums(edge: torch.Tensor) -> torch.Tensor:
        return below[:, ((edge - low) / width).round().long().clamp(0, len(counts))]

    under, over = sums(bottoms), total - sums(tops)
    lost_under = bottoms**2 * under[0] - 2 * bottoms * under[1] + under[2]
    lost_over = tops**2 * over[0] - 2 * tops * over[1] + over[2]
    if not symmetric:
        bottoms, lost_under, under = bottoms[:, None], lost_under[:, None], under[:, :, None]
    inside = (total[0] - under[0] - over[0] - zeros).clamp(min=0)
    error = lost_under + lost_over + inside * ((tops - bottoms) / steps) ** 2 / 12
    best = int(error.argmin())
    if symmetric:
        return float(bottoms[best]), float(tops[best])
    return float(bottoms[best // len(tops), 0]), float(tops[best % len(tops)])
