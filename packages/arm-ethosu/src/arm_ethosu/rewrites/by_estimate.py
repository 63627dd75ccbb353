"""Rewrites that are made only where Vela's estimate of the operators around is lower with them."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arm_tosa_core.rewrites import REWRITES
from arm_tosa_core.support.errors import LoweringError
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Op, Tensor
from arm_tosa_core.tosa.pattern import Match, Pattern, pattern_rewrite
from arm_tosa_core.tosa.rewrite import Rewrite, Stage
from arm_tosa_core.tosa.rewrite_engine import run_rewrites
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from arm_tosa_core.tosa.verifier import Check, verify

from ..estimate import Estimate

_MOVERS = ("PAD", "RESHAPE", "REVERSE", "SLICE", "TRANSPOSE")
_FUSED = ("CLAMP", "RESCALE", "TABLE")
_CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")


@dataclass(frozen=True)
class Choice:
    """A rewrite for the estimate to choose, as pattern, replacement and check.

    The check must leave few matches: about each that is new Vela is asked twice, for a third of a second of CPU time.

    Args:
        margin: what must be gained at least, as a part of the cycles, where the operators around tell the whole's
            schedule only roughly.
    """

    name: str
    pattern: Pattern
    replacement: Callable[[Match], Tensor]
    check: Callable[[Match], str | None]
    margin: float = 0.0

    @property
    def always(self) -> Rewrite:
        """The rewrite wherever it is possible. Before LEGALIZE gives operators other forms, in which none is found."""
        return pattern_rewrite(self.name, Stage.OPTIMIZE, self.pattern, self.replacement, self.check)

    def where_faster(
        self, estimate: Estimate, spec: TosaSpecification, checks: Sequence[Check], others: Sequence[Rewrite]
    ) -> Rewrite:
        """The rewrite where the estimate is lower with it.

        Args:
            spec, checks: what the target takes.
            others: rewrites without a choice, which both forms undergo before Vela is asked.
        """
        always = self.always

        def check(match: Match) -> str | None:
            if (reason := self.check(match)) is not None:
                return reason
            forms = [surroundings(match.graph, match.op) for _ in range(2)]
            if not always.apply(*forms[1]):
                return "it depends on what is further away"
            try:
                for graph, _ in forms:  # in a context of its own: who observes the rewrites of a program is not told
                    contextvars.Context().run(run_rewrites, graph, [*REWRITES, *others])
                    verify(graph, spec, checks)
            except LoweringError:
                return "the operators around do not stand alone"
            before, after = estimate.cycles([serialize(graph, spec) for graph, _ in forms])
            if before is None or after is None or after >= before * (1 - self.margin):
                return "it is not faster"
            return None

        through = frozenset((*_MOVERS, *_FUSED))
        return pattern_rewrite(self.name, Stage.OPTIMIZE, self.pattern, self.replacement, check, through)


def surroundings(graph: Graph, op: Op) -> tuple[Graph, Op]:
    """A graph of an operator and those that Vela may treat as one with it, and the operator in it.

    They are what moves data before it and what is fused behind it; of a mover also what reads it. For other neighbours
    pools stand, because Vela lays out the inputs and outputs of a graph in another way, and copies what is read in two.
    Numbers that depend on training are others, so that networks of equal shapes share what was estimated.
    """
    ops = [*_before(graph, op), op, *_behind(graph, op)]
    small, made = Graph(), dict[Tensor, Tensor]()

    def neighbour(tensor: Tensor) -> Tensor:
        copy = small.input(f"x{len(small.inputs)}", tensor.shape, tensor.dtype)
        if tensor.producer is None:
            return copy
        copy = _pooled(small, copy)
        if any(use not in ops for use in tensor.uses):
            small.outputs.append(_pooled(small, copy))
        return copy

    copies = []
    for each in ops:
        inputs = []
        for position, tensor in enumerate(each.inputs):
            if tensor.is_constant:
                inputs.append(small.constant(_numbers(each, position, tensor), tensor.dtype))
                continue
            if tensor not in made:
                made[tensor] = neighbour(tensor)
            inputs.append(made[tensor])
        copy = small.append(each.name, inputs, each.attrs)
        made |= zip(each.outputs, copy.outputs, strict=True)
        copies.append(copy)
    result = copies[-1].output
    small.outputs.insert(0, result if ops[-1].output in graph.outputs else _pooled(small, result))
    return small, copies[ops.index(op)]


def _pooled(graph: Graph, x: Tensor) -> Tensor:
    """What a pool makes of an image; anything else itself."""
    if x.rank != 4 or x.dtype not in (DType.INT8, DType.INT16):
        return x
    return graph.append("MAX_POOL2D", [x], {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0, 0, 0)}).output


def _reader(graph: Graph, op: Op) -> Op | None:
    """The only one that reads an operator's result."""
    alone = len(op.outputs) == 1 and len(op.output.uses) == 1 and op.output not in graph.outputs
    return op.output.uses[0] if alone else None


def _before(graph: Graph, op: Op) -> list[Op]:
    found: list[Op] = []
    while (producer := op.inputs[0].producer) is not None and producer.name in _MOVERS:
        if _reader(graph, producer) is None:
            break
        found.insert(0, op := producer)
    return found


def _behind(graph: Graph, op: Op) -> Iterator[Op]:
    moved = op.name in _MOVERS
    while (reader := _reader(graph, op)) is not None:
        if reader.name not in _FUSED and not moved:
            return
        yield reader
        moved = moved and reader.name in _MOVERS
        op = reader


def _numbers(op: Op, position: int, constant: Tensor) -> np.ndarray[Any, Any]:
    """The numbers of a constant, or, of those that depend on training, any in their place."""
    name, dtype = op.name, constant.dtype
    if name in _CONVOLUTIONS and position == 2:
        return np.zeros(constant.shape, np.int32 if dtype is DType.INT32 else np.int64)
    if (name in _CONVOLUTIONS or name == "TABLE") and position == 1:
        most = {DType.INT4: 7, DType.INT8: 127}.get(dtype, 32767)
        made = np.random.default_rng(0).integers(-most, most + 1, constant.shape)
        if name == "CONV2D" and constant.data is not None:
            # Rows and columns of zeros, which a rewrite has put there, encode to next to nothing.
            made *= np.any(constant.data, axis=(0, 3), keepdims=True)
        return made.astype(np.int16 if dtype is DType.INT16 else np.int8)
    if name == "RESCALE" and position in (1, 2):
        wide = op.attrs["scale32"]
        if position == 2:
            return np.full(constant.shape, 38 if wide else 22, np.int8)
        return np.full(constant.shape, 1 << (30 if wide else 14), np.int32 if wide else np.int16)
    assert constant.data is not None
    return constant.data
