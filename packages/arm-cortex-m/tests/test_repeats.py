"""Steps that come again as loops of C, and parts of values without copies: the reference model's bits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from c_compiler import WARNINGS

from arm_cortex_m.firmware import on_host
from arm_cortex_m.firmware.formats.sources import sources
from arm_cortex_m.firmware.processor_steps import model_of_graph
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT")
TIMES, WIDTH = 20, 5
I8, I32 = DType.INT8, DType.INT32
RNG = np.random.default_rng(0)
Cell = Callable[[Graph, Tensor, Tensor, int], Tensor]


def _then(graph: Graph, name: str, *operands: Tensor) -> Tensor:
    return graph.append(name, list(operands), {}).output


def _part(graph: Graph, whole: Tensor, first: int) -> Tensor:
    ends = [graph.constant(np.array(each), DType.SHAPE) for each in ((first, 0), (1, WIDTH))]
    return graph.append("SLICE", [whole, *ends], {}).output


def _together(graph: Graph, parts: list[Tensor]) -> Tensor:
    return graph.append("CONCAT", parts, {"axis": 0}).output


def _turned(graph: Graph, x: Tensor) -> Tensor:
    """By an operator that is a loop of its own."""
    return graph.append("REVERSE", [x], {"axis": 1}).output


def _in_one_place(graph: Graph, state: Tensor, x: Tensor, time: int) -> Tensor:
    return _turned(graph, _then(graph, "SUB", _then(graph, "MAXIMUM", state, x), x))


def _in_turn(graph: Graph, state: Tensor, x: Tensor, time: int) -> Tensor:
    return _turned(graph, state)


def _numbers_of_each(graph: Graph, state: Tensor, x: Tensor, time: int) -> Tensor:
    number = graph.constant(RNG.integers(-99, 99, (1, WIDTH)), I32)
    return _then(graph, "SUB", _turned(graph, _then(graph, "ADD", x, number)), state)


def _a_number_of_each(graph: Graph, state: Tensor, x: Tensor, time: int) -> Tensor:
    """One that stands in the text of a function."""
    number = graph.constant(np.array([[-(2**31) if time == 7 else 9 * time - 90]]), I32)
    return _turned(graph, _then(graph, "SUB", _then(graph, "MAXIMUM", x, number), state))


def _tables(graph: Graph, state: Tensor, x: Tensor, time: int) -> Tensor:
    table = graph.constant(RNG.integers(-128, 128, 256).astype(np.int8), I8)
    return _then(graph, "TABLE", _then(graph, "BITWISE_XOR", state, x), table)


def recurrent(cell: Cell, dtype: DType, constant: bool = False, turned: bool = False) -> tuple[Graph, list[Tensor]]:
    """A graph of a cell that runs often, and the states.

    Args:
        constant: the first state is; else it is the sum of two inputs.
        turned: from the last row of the input to the first.
    """
    graph = Graph()
    x, first = graph.input("x", (TIMES, WIDTH), dtype), graph.input("first", (1, WIDTH), dtype)
    if constant:
        state = graph.constant(np.ones((1, WIDTH), np.int32), dtype)
    else:
        state = _then(graph, "ADD" if dtype is I32 else "BITWISE_OR", first, first)
    times = range(TIMES)[::-1] if turned else range(TIMES)
    return graph, list(accumulate(times, lambda s, time: cell(graph, s, _part(graph, x, time), time), initial=state))


def the_last(graph: Graph, states: list[Tensor]) -> Tensor:
    return states[-1]


def one_after_the_other(graph: Graph, states: list[Tensor]) -> Tensor:
    return _together(graph, states[1:])


def read_afterwards(graph: Graph, states: list[Tensor]) -> Tensor:
    """Of those of the loop none can take the place of another."""
    return list(accumulate(states[:0:-1], lambda sum_, state: _then(graph, "MAXIMUM", sum_, state)))[-1]


ROWS: Mapping[str, tuple[tuple[Graph, list[Tensor]], Callable[[Graph, list[Tensor]], Tensor], int, str]] = {
    "one place": (recurrent(_in_one_place, I32), the_last, 1, "value"),
    "two places in turn": (recurrent(_in_turn, I32), the_last, 1, "(i % 2u)"),
    "a row of places": (recurrent(_in_turn, I32), one_after_the_other, 1, "[5u * i]"),
    "places for later": (recurrent(_in_one_place, I32), read_afterwards, 1, "[8u * i]"),
    "from the end": (recurrent(_in_one_place, I32, turned=True), the_last, 1, "input0[90u - 5u * i]"),
    "constant at first": (recurrent(_in_one_place, I32, constant=True), the_last, 1, "i < 19u"),
    "operands of each time": (recurrent(_numbers_of_each, I32), the_last, 1, "_operand2[i]"),
    "numbers of each time": (recurrent(_a_number_of_each, I32), the_last, 1, "step3_numbers[i]"),
    "parameters of each time": (recurrent(_tables, I8), the_last, 1, "STEP4(table_)"),
}


@pytest.mark.parametrize("name", ROWS)
def test_steps_that_come_again_are_a_loop(name: str, tmp_path: Path) -> None:
    require("gcc")
    (graph, states), result, loops, text = ROWS[name]
    graph.outputs.append(result(graph, states))
    tosa, model = serialize(graph, SPEC), model_of_graph(graph, "cortex-m55")
    files = sources([model], None)
    source = files["models/graph.c"]
    assert len(model.loops) == loops and text in source
    assert not {step.ops[0].name for step in model.operators} & {"SLICE", "CONCAT"}
    inputs = [
        RNG.integers(-128, 128, tensor.shape).astype(np.int8 if tensor.dtype is I8 else np.int32)
        for tensor in graph.inputs
    ]
    (wanted,), (got,) = reference_model.run(tosa, inputs), on_host.run(tosa, inputs)
    assert np.array_equal(wanted, got)
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    include = ["-Icommon", "-Iprocessor", "-fsyntax-only", "models/graph.c"]
    subprocess.run(["gcc", *WARNINGS, *include], cwd=tmp_path, check=True)
