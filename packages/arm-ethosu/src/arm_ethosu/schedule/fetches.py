"""What a plan is made of: stretches of constants that are fetched to SRAM, in chunks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chunk:
    """A transfer of a fetch: behind which operation, and which bytes of the fetch."""

    behind: int
    first: int
    size: int


@dataclass(frozen=True)
class Fetch:
    """Constants that kernels read in SRAM.

    Args:
        source: the first byte in the constants' region.
        size: bytes.
        users: the operations that read them, in order.
        saved: cycles that the users take less.
        address: the first byte in SRAM.
        chunks: the transfers, in order.
    """

    source: int
    size: int
    users: tuple[int, ...]
    saved: float
    address: int = 0
    chunks: tuple[Chunk, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Fetches in the order of their first users."""

    fetches: tuple[Fetch, ...] = ()

    @property
    def saved(self) -> float:
        """Cycles by which the kernels take less; the same estimate as that of the costs."""
        return sum(fetch.saved for fetch in self.fetches)

    @property
    def bytes(self) -> int:
        """Bytes that are fetched."""
        return sum(fetch.size for fetch in self.fetches)
