"""What two networks' outputs have in common: decisions that are equal, and figures that tell more."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from benchmarks.real.network import Call


def column(outputs: Sequence[Call], index: int = 0) -> torch.Tensor:
    """One output of all samples, joined along the first axis."""
    return torch.cat([sample[index] for sample in outputs])


def agreement(exact: torch.Tensor, other: torch.Tensor) -> dict[str, float]:
    """Of two tensors of decisions: how many are equal."""
    return {"agree": round(100 * (exact == other).float().mean().item(), 2), "decisions": exact.numel()}


def classes(exact: Sequence[Call], other: Sequence[Call], index: int = 0) -> dict[str, float]:
    """The class with the highest number in the last axis; top-5 overlap where there are more than five."""
    wanted, got = column(exact, index), column(other, index)
    found = agreement(wanted.argmax(-1), got.argmax(-1))
    if wanted.shape[-1] > 5:
        five, theirs = wanted.topk(5).indices, got.topk(5).indices
        shared = (five[..., :, None] == theirs[..., None, :]).any(-1)
        found["overlap_of_5"] = round(100 * shared.float().mean().item(), 1)
    return found


def above(exact: Sequence[Call], other: Sequence[Call], threshold: float, index: int = 0) -> dict[str, float]:
    """Which numbers are above a threshold, and the mean distance of the numbers."""
    wanted, got = column(exact, index), column(other, index)
    found = agreement(wanted > threshold, got > threshold)
    both = ((wanted > threshold) & (got > threshold)).sum().item()
    either = ((wanted > threshold) | (got > threshold)).sum().item()
    distance = float((wanted - got).abs().mean())
    return {**found, "overlap": round(100 * both / either, 1) if either else 100.0, "off": round(distance, 4)}


def nearest(exact: Sequence[Call], other: Sequence[Call]) -> dict[str, float]:
    """Of embeddings: whether the float network's embedding of the same sample is the nearest of all of its own."""
    wanted, got = (torch.nn.functional.normalize(column(side).flatten(1)) for side in (exact, other))
    found = agreement(torch.arange(len(wanted)), (got @ wanted.T).argmax(1))
    return {**found, "cosine": round(float((wanted * got).sum(1).mean()), 4)}


def decibels(exact: Sequence[Call], other: Sequence[Call]) -> list[float]:
    """SQNR of each output over all samples, in dB; 120 at most."""
    found = []
    for wanted, got in zip(zip(*exact, strict=True), zip(*other, strict=True), strict=True):
        signal = sum(float((a.double() ** 2).sum()) for a in wanted)
        noise = sum(float(((a.double() - b.double()) ** 2).sum()) for a, b in zip(wanted, got, strict=True))
        found.append(round(min(120.0, 10 * math.log10(max(signal, 1e-30) / max(noise, 1e-30))), 2))
    return found
