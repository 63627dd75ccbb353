"""What is taken for granted of the hardware. Sources are in ``docs/explanation/ethosu-schedules.md``."""

from __future__ import annotations

from ..accelerators import Family

#: Transfers begin at multiples of this on both sides, and have multiples of it for lengths (Vela's ``check_dma_op``).
ALIGNMENT = 16
#: Kernels that may be unfinished when the next command begins (Vela's ``max_outstanding_kernels``).
KERNELS_IN_FLIGHT = 2
#: Transfers that may be unfinished; the start of one more waits (Vela's ``max_outstanding_dma``).
TRANSFERS_IN_FLIGHT: dict[Family, int] = {"u55": 1, "u65": 2, "u85": 4}
#: Bytes per cycle of a memory's port (Vela's ``axi_port_bytes_per_cycle``).
PORT: dict[Family, float] = {"u55": 8.0, "u65": 16.0, "u85": 16.0}

#: Height and width of Ethos-U85's micro blocks by their number in ACC_FORMAT; the depth is ``macs / (8 * area)``.
MICRO_BLOCKS_U85: tuple[tuple[int, int], ...] = ((1, 1), (1, 2), (1, 4), (2, 2), (2, 4), (4, 4))


def aligned(size: int) -> int:
    """``size`` rounded up to the alignment of transfers."""
    return -(-size // ALIGNMENT) * ALIGNMENT
