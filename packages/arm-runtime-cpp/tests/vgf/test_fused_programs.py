"""Random graphs of operators that the compute engine fuses, beside the TOSA reference model: bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from vgf_files import SPEC

from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph, Tensor
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_vgf.model_converter import convert

#: Of 256 elements: rows of several lengths, some of them no multiple of four.
SHAPES = ((256,), (2, 128), (4, 64), (32, 8), (128, 2), (2, 16, 8), (256, 1))
PAIRS = ("MAXIMUM", "MINIMUM", "BITWISE_XOR", "BITWISE_AND", "SUB")
REDUCTIONS = ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM")
#: What keeps every value small, so that no sum leaves int32.
MASK = 1023


class RandomGraph:
    """Operators on tensors of int32 that were made before, of one shape or with one number for each row."""

    def __init__(self, seed: int, operators: int = 24, shapes: Sequence[tuple[int, ...]] = SHAPES) -> None:
        self.rng = np.random.default_rng(seed)
        self.graph = Graph()
        self.shapes = shapes
        self.inputs = [self.graph.input(f"x{i}", shape, DType.INT32) for i, shape in enumerate(shapes)]
        self.made: list[Tensor] = list(self.inputs)
        self.whole = list(self.inputs)
        for _ in range(operators):
            (self.pair, self.pair, self.of_rows, self.shaped)[self.rng.integers(4)]()
        ends = self.rng.choice(len(self.made) - len(shapes), 1) + len(shapes)
        self.graph.outputs = [self.made[i] for i in sorted({*ends, len(self.made) - 1})]

    def pick(self) -> Tensor:
        """A tensor of 256 elements, mostly the last: what only one operator reads is fused."""
        return self.whole[-1 if self.rng.random() < 0.8 else int(self.rng.integers(len(self.whole)))]

    def masked(self, tensor: Tensor) -> Tensor:
        mask = self.graph.constant(np.full([1] * len(tensor.shape), MASK, np.int32), DType.INT32)
        made = self.graph.append("BITWISE_AND", [tensor, mask]).output
        self.made.append(made)
        return made

    def pair(self) -> None:
        one = self.pick()
        self.combine(one, self.other([t for t in self.made if self.is_read_by(t, one)]))

    def other(self, fits: list[Tensor]) -> Tensor:
        """One of these, rather an input."""
        given = [t for t in fits if t in self.inputs]
        choice = given if given and self.rng.random() < 0.7 else fits
        return choice[int(self.rng.integers(len(choice)))]

    def is_read_by(self, tensor: Tensor, one: Tensor) -> bool:
        return len(tensor.shape) == len(one.shape) and all(
            size in (1, whole) for size, whole in zip(tensor.shape, one.shape, strict=True)
        )

    def combine(self, one: Tensor, other: Tensor) -> None:
        name = PAIRS[int(self.rng.integers(len(PAIRS)))]
        attrs = {"nan_mode": "PROPAGATE"} if name in ("MAXIMUM", "MINIMUM") else {}
        self.whole.append(self.masked(self.graph.append(name, [one, other], attrs).output))

    def of_rows(self) -> None:
        """x with the sums, or extremes, of rows: its own or another tensor's."""
        one = self.pick()
        source = self.other([t for t in self.made if t.shape == one.shape])
        name = REDUCTIONS[int(self.rng.integers(len(REDUCTIONS)))]
        axis = len(one.shape) - 1 if self.rng.random() < 0.8 else 0
        attrs: dict[str, Any] = {"axis": axis}
        if name != "REDUCE_SUM":
            attrs["nan_mode"] = "PROPAGATE"
        self.combine(one, self.masked(self.graph.append(name, [source], attrs).output))

    def shaped(self) -> None:
        shape = self.shapes[int(self.rng.integers(len(self.shapes)))]
        self.whole.append(self.graph.append("RESHAPE", [self.pick(), self.graph.shape(shape)]).output)
        self.made.append(self.whole[-1])


@pytest.mark.parametrize("seed", range(40))
def test_fused_programs_are_exact(vgf: Any, seed: int) -> None:
    random = RandomGraph(seed)
    flatbuffer = serialize(random.graph, SPEC)
    inputs = [random.rng.integers(0, MASK + 1, t.shape, np.int32) for t in random.inputs]
    with vgf.Session(convert(flatbuffer), engine="compute") as session:
        found = session.run(inputs)
        assert len(session.plan()) < len(random.graph.ops), "nothing was fused"
    for one, other in zip(found, reference_model.run(flatbuffer, inputs), strict=True):
        assert np.array_equal(one.reshape(other.shape), other)
