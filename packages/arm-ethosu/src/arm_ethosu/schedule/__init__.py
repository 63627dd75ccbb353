"""Schedules of our own for what Vela compiled: when which constants go from flash or DRAM to SRAM.

``docs/explanation/ethosu-schedules.md`` says how, and what it takes for granted of the hardware.
"""

from __future__ import annotations

from .deep import NothingToPrefetchWarning, Outcome, prefetched

__all__ = ["NothingToPrefetchWarning", "Outcome", "prefetched"]
