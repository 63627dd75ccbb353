"""Networks whose last convolutions have many weights, and what a deep schedule makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import graphs
import numpy as np
from graphs import I8, Make, Maker

from arm_ethosu.accelerators import ACCELERATORS
from arm_ethosu.command_stream.operations import Operation
from arm_ethosu.schedule import Outcome, prefetched
from arm_ethosu.schedule.costs import Cost, Costs, Memories, memories, velas_costs
from arm_ethosu.vela import VelaOutput, compile
from arm_ethosu.vela_ini import VelaIni, locate
from arm_ethosu.waits import with_waits
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Tensor

#: System configuration and memory mode, by accelerator: constants in flash or DRAM, maps in SRAM or in DRAM.
SYSTEMS = [
    ("ethos-u55-32", "Ethos_U55_Deep_Embedded", "Shared_Sram"),
    ("ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    ("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    ("ethos-u65-256", "Ethos_U65_Embedded", "Shared_Sram"),
    ("ethos-u65-512", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    ("ethos-u65-512", "Ethos_U65_Embedded", "Shared_Sram"),
    ("ethos-u85-128", "Ethos_U85_SYS_Flash_Low", "Shared_Sram"),
    ("ethos-u85-256", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
    ("ethos-u85-512", "Ethos_U85_SYS_Flash_High", "Shared_Sram"),
    ("ethos-u85-2048", "Ethos_U85_SYS_DRAM_Low", "Shared_Sram"),
]

Options = dict[str, str]


def network(steps: int, channels: int, size: int = 64) -> Make:
    """Convolutions and sums over an image, which is then made small and deep."""

    def make(m: Maker) -> Tensor:
        x = m.conv(m.input(I8, 1, size, size, 16), (3, 3), 32, pad=(1, 1, 1, 1), scale=1e-3)
        for _ in range(steps):
            y = m.conv(x, (3, 3), 32, pad=(1, 1, 1, 1), scale=1e-3)
            x = m.sum("ADD", x, y, 19)
        x = m.pool("AVG_POOL2D", x, (size // 8, size // 8), (size // 8, size // 8), (0, 0, 0, 0))
        return deep_end(m, x, channels)

    return make


def deep_end(m: Maker, x: Tensor, *channels: int) -> Tensor:
    """Convolutions of 1x1 and 3x3 over many channels, whose weights are larger than the maps."""
    for count in channels:
        x = m.conv(x, (1, 1), count, scale=3e-3)
        x = m.conv(x, (3, 3), 32, pad=(1, 1, 1, 1), scale=8e-4)
        x = m.conv(x, (1, 1), count, scale=3e-3)
    return x


def velas(graph: Graph, accelerator: str, system_config: str, memory_mode: str) -> VelaOutput:
    """What Vela makes of a graph, with its debug database."""
    return compile(
        graphs.flatbuffer(graph, accelerator), accelerator=accelerator, config=None, system_config=system_config,
        memory_mode=memory_mode, flags=["--enable-debug-db"], timeout=60,
    )  # fmt: skip


def random_costs(rng: np.random.Generator, operations: Sequence[Operation], _: Memories) -> Costs:
    """Any times: where transfers go is another time another place."""
    times = rng.integers(1000, 200_000, (len(operations), 2)).astype(float)
    return {i: Cost(a + b, a, b * rng.integers(0, 2)) for i, (a, b) in enumerate(times) if operations[i].is_kernel}


def deep(
    made: VelaOutput, accelerator: str, system_config: str, memory_mode: str, costs: Callable[..., Costs] | None = None
) -> tuple[dict[str, np.ndarray[Any, Any]], Outcome]:
    """The arrays with constants prefetched by Vela's estimate, or other costs, and with waits that Vela leaves out."""
    family = ACCELERATORS[accelerator]
    where = memories(VelaIni(locate(None)), system_config, memory_mode, family)
    arrays, outcome = prefetched(made.arrays, where, family, costs or partial(velas_costs, made.debug_db))
    return {**arrays, "cmd_data": with_waits(arrays["cmd_data"], accelerator)}, outcome
