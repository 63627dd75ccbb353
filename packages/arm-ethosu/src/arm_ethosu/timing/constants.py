"""What the timing model knows of each accelerator, as data.

Source: Vela 5.2, the published performance estimator of Arm's compiler, and its description of the accelerators: in
Python ``ethosu/vela/architecture_features.py`` and ``npu_performance.py`` (package ethos-u-vela, Apache-2.0), in C++
the folder ``regor/architecture``. The figures are Arm's estimates of throughput, not measurements. Micro blocks of
Ethos-U85: from the command stream. Limits of queues and ports: ``command_stream.hardware``.
"""

from __future__ import annotations

from dataclasses import dataclass

Size = tuple[int, int, int]  # height, width, depth


@dataclass(frozen=True)
class OutputRates:
    """Cycles an element in the output stage of Ethos-U55 and U65.

    Args:
        unary_int32, binary_int32: elementwise operations on 32-bit operands.
        mul_int32: a product of narrower operands, to 32 bits.
        mul: other products, and sums in 40-bit accumulators.
        add: ADD and SUB, whose operands are scaled.
        max_pool, other: the rest.
        table: a look-up behind the operation: the slower of the two counts.
    """

    unary_int32: float
    binary_int32: float
    mul_int32: float
    mul: float
    add: float
    max_pool: float
    other: float
    table: float


@dataclass(frozen=True)
class OutputRatesU85:
    """Cycles an element in the output stage of Ethos-U85, by the bits of the result.

    Args:
        bits8, bits16, bits32, bits64: of a result in memory.
        narrowed: of two 32-bit operands to fewer bits, and 32 bits into or out of a chaining buffer.
        binary_int32: of two 32-bit operands to 32 bits.
        swapped: results whose rows and columns change places, or whose columns are reversed, at least.
        div: DIV.
    """

    bits8: float
    bits16: float
    bits32: float
    bits64: float
    narrowed: float
    binary_int32: float
    swapped: float
    div: float = 33.0


@dataclass(frozen=True)
class Facts:
    """One accelerator.

    Args:
        macs: multiply-accumulate units of a core.
        cores: cores, which share the channels of a result.
        micro_block: of a result, what the MAC array computes at once; on Ethos-U85 the stream says it.
        output: rates of the output stage.
        read_buffers: Ethos-U85, beats of read data in flight of the channels for memory to memory, streamed maps,
            weights, fast weights, maps, and scales.
    """

    macs: int
    cores: int
    micro_block: Size
    output: OutputRates | OutputRatesU85
    read_buffers: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)


_U256 = OutputRates(0.625, 1.125, 0.5, 0.375, 0.75, 0.125, 0.25, 1.0)

FACTS: dict[str, Facts] = {
    "ethos-u55-32": Facts(32, 1, (1, 1, 4), OutputRates(2.0, 3.0, 3.0, 3.0, 6.0, 1.0, 2.0, 1.0)),
    "ethos-u55-64": Facts(64, 1, (1, 1, 8), OutputRates(1.0, 1.5, 1.5, 1.5, 3.0, 0.5, 1.0, 1.0)),
    "ethos-u55-128": Facts(128, 1, (1, 2, 8), OutputRates(0.75, 1.25, 0.75, 0.75, 1.5, 0.25, 0.5, 1.0)),
    "ethos-u55-256": Facts(256, 1, (2, 2, 8), _U256),
    "ethos-u65-256": Facts(256, 1, (2, 2, 8), _U256),
    "ethos-u65-512": Facts(256, 2, (2, 2, 8), OutputRates(0.3125, 0.5625, 0.25, 0.1875, 0.375, 0.0625, 0.125, 0.5)),
    "ethos-u85-128": Facts(
        128, 1, (1, 2, 8), OutputRatesU85(0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0), (64, 64, 128, 128, 104, 16)
    ),
    "ethos-u85-256": Facts(
        256, 1, (2, 2, 8), OutputRatesU85(0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5), (104, 104, 128, 128, 128, 16)
    ),
    "ethos-u85-512": Facts(
        512,
        2,
        (2, 2, 16),
        OutputRatesU85(0.125, 0.125, 0.25, 0.5, 0.25, 0.25, 0.25),
        (128, 128, 256, 256, 128, 16),
    ),
    "ethos-u85-1024": Facts(
        1024,
        4,
        (2, 4, 16),
        OutputRatesU85(0.0625, 0.125, 0.25, 0.5, 0.125, 0.25, 0.125),
        (256, 256, 416, 208, 256, 16),
    ),
    "ethos-u85-2048": Facts(
        2048,
        4,
        (4, 4, 16),
        OutputRatesU85(0.03125, 0.0625, 0.125, 0.25, 0.0625, 0.125, 0.0625),
        (256, 256, 512, 256, 256, 16),
    ),
}

#: Kernels larger than this are done in parts, each of which reads its part of the input anew.
LARGEST_WINDOW = 8
#: Blocks whose commands are in preparation at once, by which the issue of commands is limited.
BLOCKS_IN_PREPARATION = 4
#: Bytes of scale and bias of a channel, and bytes of them that a burst brings.
SCALE_BYTES, SCALE_BURST = 10, 256
#: Of what a memory's outstanding transactions allow, the part that is used.
CHANNEL_USE = 0.8
#: Height and width to which Ethos-U85 rounds the part of the input that a block needs, by MACs and by height and width
#: of the micro block; for up to 16, up to 32 and more bytes of a pixel's channels, which it rounds to 16, 32, 64 bytes.
INPUT_UNITS_U85: dict[tuple[int, tuple[int, int]], tuple[tuple[int, int], tuple[int, int], tuple[int, int]]] = {
    (128, (1, 2)): ((1, 2), (1, 1), (1, 1)),
    (128, (1, 1)): ((1, 2), (1, 1), (1, 1)),
    (256, (2, 2)): ((2, 2), (1, 2), (1, 1)),
    (256, (1, 2)): ((2, 2), (1, 2), (1, 1)),
    (256, (1, 4)): ((1, 4), (1, 2), (1, 1)),
    (512, (2, 2)): ((2, 2), (1, 2), (1, 1)),
    (512, (1, 4)): ((1, 4), (1, 2), (1, 1)),
    (1024, (2, 2)): ((2, 4), (2, 2), (1, 2)),
    (1024, (2, 4)): ((2, 4), (2, 2), (1, 2)),
    (1024, (1, 4)): ((2, 4), (1, 4), (1, 2)),
    (2048, (2, 2)): ((4, 4), (2, 4), (2, 2)),
    (2048, (4, 4)): ((4, 4), (2, 4), (2, 2)),
    (2048, (1, 4)): ((4, 4), (2, 4), (1, 4)),
}
