"""Equal weights of several methods in one order, that of the method with the smallest blocks of channels.

Weights lie in the order in which Ethos-U85 computes: blocks of output channels, in each the blocks of input channels,
to and fro by turns (``walk`` in ``packages/arm-runtime-cpp/src/ethosu/model/weights_u85.cpp``). Vela chooses blocks by
the shape of the result, so that one row of a matrix and many rows have the same weights in different orders. A smaller
block of output channels fits wherever a larger one does, and computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ..accelerators import family_of
from ..command_stream import registers as r
from ..command_stream.changed_registers import with_registers
from ..command_stream.container import accelerator_of, commands_of, with_commands
from ..command_stream.footprints import constants
from ..command_stream.hardware import ALIGNMENT, MICRO_BLOCKS_U85
from ..command_stream.operations import Operation, operations_of
from ..vela import Arrays

_HEADER = 32  # bytes before the weights


@dataclass(frozen=True)
class _Layer:
    """A convolution of 1x1 with plain weights.

    Args:
        inputs: blocks of input channels.
        together: the words of the kernels whose blocks change with its own; none: they cannot change.
        key: equal for equal layers: sizes and scales.
    """

    program: int
    operation: Operation
    weights: bytes
    inputs: int
    together: tuple[int, ...]
    key: tuple[Any, ...]

    @property
    def channels(self) -> int:
        return self.operation.size(r.OFM_DEPTH_M1)

    @property
    def block(self) -> int:
        return self.operation.size(r.OFM_BLK_DEPTH_M1)


def in_one_order(programs: Sequence[Arrays]) -> list[Arrays]:
    """The programs, with blocks and weights of another in place of their own where both have the same weights.

    Programs that are not understood, or have no such weights, stay as they are.
    """
    streams: dict[int, tuple[list[int], list[Operation]]] = {}
    groups: dict[tuple[Any, ...], list[_Layer]] = {}
    for number, arrays in enumerate(programs):
        accelerator = accelerator_of(arrays["cmd_data"])
        if accelerator is None or family_of(accelerator) != "u85":
            continue
        try:
            words = commands_of(arrays["cmd_data"])
            operations, macs = operations_of(words), int(accelerator.rpartition("-")[2])
            layers = list(_layers(number, operations, arrays["weight_data"].tobytes(), macs))
        except ValueError:
            continue
        streams[number] = words, operations
        for layer in layers:
            groups.setdefault(layer.key, []).append(layer)
    changes: dict[int, list[tuple[_Layer, _Layer]]] = {}
    for group in groups.values():
        for layer in group:
            if (other := _smaller(layer, group)) is not None:
                changes.setdefault(layer.program, []).append((layer, other))
    return [
        _changed(arrays, *streams[number], changes[number]) if number in changes else arrays
        for number, arrays in enumerate(programs)
    ]


def _layers(program: int, operations: Sequence[Operation], block: bytes, macs: int) -> Iterator[_Layer]:
    for chain in _chains(operations):
        for op in chain:
            if (inputs := _blocks_of_inputs(op, macs)) is None:
                continue
            streams: dict[int, list[bytes]] = {r.WEIGHT_REGION: [], r.SCALE_REGION: []}
            read = constants(op, "u85")
            if any(op.get(region) != r.CONSTANTS or first + size > len(block) for region, _, first, size in read):
                continue
            for region, _, first, size in read:
                streams[region].append(block[first : first + size])
            if len(streams[r.WEIGHT_REGION]) == 1:
                (weights,) = streams[r.WEIGHT_REGION]
                sizes = len(weights), op.get(r.IFM_DEPTH_M1), op.get(r.OFM_DEPTH_M1), op.get(r.ACC_FORMAT)
                together = tuple(each.at for each in chain) if _has_one_block(chain) else ()
                yield _Layer(program, op, weights, inputs, together, (*sizes, *streams[r.SCALE_REGION]))


def _chains(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Kernels, those together that hand their results to each other on chip."""
    chain: list[Operation] = []
    for op in operations:
        if op.is_kernel:
            chain.append(op)
            if not op.goes_on(u85=True):
                yield chain
                chain = []


def _has_one_block(chain: Sequence[Operation]) -> bool:
    """Whether a chain is of one convolution and element-wise kernels, in one block of all channels."""
    first, *others = ((op.get(r.OFM_DEPTH_M1), op.get(r.OFM_BLK_DEPTH_M1)) for op in chain)
    unfinished = any(op.code == r.CONV and op.keeps_sums for op in chain)
    codes = sorted(op.code for op in chain if op.code != r.ELEMENTWISE)
    return codes == [r.CONV] and not unfinished and first[1] >= first[0] and all(other == first for other in others)


def _blocks_of_inputs(op: Operation, macs: int) -> int | None:
    """How many blocks of input channels a convolution has; None: it is of another kind."""
    plain = (
        op.code == r.CONV
        and not op.parameter
        and op.registers.get(r.WEIGHT_FORMAT_U85) == r.FAST_WEIGHTS
        and op.get(r.KERNEL_WIDTH_M1) == op.get(r.KERNEL_HEIGHT_M1) == 0
        and not op.get(r.KERNEL_STRIDE) & r.PART_KERNEL
        and op.get(r.IFM_PRECISION) >> 2 & 3 <= 1
    )
    form = op.registers.get(r.ACC_FORMAT, 0) >> 8 & 7
    if not plain or form >= len(MICRO_BLOCKS_U85):
        return None
    outputs_at_once = macs // (8 * prod(MICRO_BLOCKS_U85[form]))
    depth = 32 if macs <= 256 and outputs_at_once == 16 else 64
    if op.size(r.IFM_DEPTH_M1) % depth or op.size(r.OFM_BLK_DEPTH_M1) % outputs_at_once:
        return None
    return op.size(r.IFM_DEPTH_M1) // depth


def _smaller(layer: _Layer, layers: Sequence[_Layer]) -> _Layer | None:
    """The layer with the same weights in the smallest blocks, if those are smaller and this one's can change."""
    if not layer.together:
        return None
    for other in sorted(layers, key=lambda each: each.block):
        if other.block >= layer.block or layer.channels % other.block:
            continue
        if _in_blocks(layer.weights, layer.inputs, layer.channels // other.block) == other.weights:
            return other
    return None


def _in_blocks(weights: bytes, inputs: int, outputs: int) -> bytes | None:
    """Weights that lie as one block of output channels, as they lie in so many."""
    body = np.frombuffer(weights, np.uint8)[_HEADER:]
    if body.size % (inputs * outputs):
        return None
    parts = body.reshape(inputs, outputs, -1)
    blocks = [parts[:: 1 if number % 2 == 0 else -1, number] for number in range(outputs)]
    body_in_blocks: bytes = np.stack(blocks).tobytes()
    return weights[:_HEADER] + body_in_blocks


def _changed(
    arrays: Arrays, words: list[int], operations: list[Operation], changes: Sequence[tuple[_Layer, _Layer]]
) -> Arrays:
    """The program with others' blocks and weights in place of its own; those lie behind its own, which stay unread."""
    block = bytearray(arrays["weight_data"].tobytes())
    places: dict[bytes, int] = {}
    for _, other in changes:
        if other.weights not in places:
            block += bytes(-len(block) % ALIGNMENT)
            places[other.weights] = len(block)
            block += other.weights
    new_blocks = {at: other.block - 1 for layer, other in changes for at in layer.together}
    new_weights = {layer.operation.at: places[other.weights] for layer, other in changes}
    kernels = [operation.at for operation in operations if operation.is_kernel]
    # What comes behind may not begin before these are done: Vela counted blocks of another size.
    waits = {at for before, at in pairwise(kernels) if before in new_blocks} | new_blocks.keys()

    def wanted(operation: Operation) -> dict[int, int]:
        if not operation.is_kernel:
            return {}
        known = operation.registers
        values = {name: known[name] for name in (r.OFM_BLK_DEPTH_M1, r.BLOCKDEP) if name in known}
        if any(base == r.WEIGHT_BASE for _, base, _, _ in constants(operation, "u85")):
            values[r.WEIGHT_BASE] = new_weights.get(operation.at, operation.get(r.WEIGHT_BASE))
        if operation.at in new_blocks:
            values[r.OFM_BLK_DEPTH_M1] = new_blocks[operation.at]
        if operation.at in waits:
            values[r.BLOCKDEP] = 0
        return values

    commands = with_commands(arrays["cmd_data"], with_registers(words, operations, wanted))
    return {**arrays, "cmd_data": commands, "weight_data": np.frombuffer(bytes(block), np.uint8)}
