"""What is cut out of a graph: its operators, its own inputs, and constants that are made only then."""

from __future__ import annotations

import numpy as np
import pytest

from arm_tosa_core.lowering.cut import NotApartError, cut
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor

SHAPE = (2, 3)


def lazy(made: list[str], name: str) -> Tensor:
    """A constant that notes when its numbers are made."""

    def make() -> np.ndarray:
        made.append(name)
        return np.full(SHAPE, 7, np.int32)

    return Tensor(SHAPE, DType.INT32, data=make)


def test_only_the_constants_of_what_is_cut_are_made_and_equal_ones_are_one() -> None:
    made: list[str] = []
    graph = Graph()
    x = graph.input("x", SHAPE, DType.INT32)
    first = graph.append("ADD", [x, lazy(made, "a")])
    kept = graph.append("ADD", [first.output, lazy(made, "b")])
    last = graph.append("ADD", [kept.output, lazy(made, "c")])
    assert not made and all(op.inputs[1].is_constant for op in graph.ops)

    given = Tensor(SHAPE, DType.INT32, name="given")
    part = cut([kept, last], {first.output: given}, [last.output])
    assert sorted(made) == ["b", "c"]
    assert [op.name for op in part.ops] == ["ADD", "ADD"]
    assert part.inputs == [given] and part.outputs == [last.output]
    assert kept.inputs[1] is last.inputs[1] and list(kept.inputs[1].uses) == [kept, last]
    assert list(given.uses) == [kept] and list(kept.output.uses) == [last] and list(last.output.uses) == []


def test_what_reads_a_tensor_of_others_is_not_apart() -> None:
    graph = Graph()
    x = graph.input("x", SHAPE, DType.INT32)
    first = graph.append("ADD", [x, x])
    last = graph.append("ADD", [first.output, x])
    with pytest.raises(NotApartError):
        cut([last], {x: Tensor(SHAPE, DType.INT32)}, [last.output])
    assert last.inputs == [first.output, x]


def test_an_output_may_be_an_input_or_a_constant() -> None:
    graph = Graph()
    x, number = graph.input("x", SHAPE, DType.INT32), lazy([], "number")
    part = cut([], {x: x}, [x, number])
    assert part.outputs[0] is x
    assert part.outputs[1].data is not None and part.outputs[1].data.tolist() == np.full(SHAPE, 7).tolist()
