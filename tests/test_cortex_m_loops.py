"""A recurrent layer of odd sizes in QEMU: loops, and parts of values at any address: the reference model's bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_cortex_m.firmware.formats.sources import sources
from arm_cortex_m.firmware.processor_steps import model_of_graph
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require
from kernel_program import MACHINES, build, objects_of, run

I8, I32 = DType.INT8, DType.INT32
TIMES, WIDTH = 9, 5
RNG = np.random.default_rng(0)

_MAIN = """
#include "board.h"
#include "models/graph.h"
#include <string.h>

void board_exit(int status);

_Alignas(GRAPH_ARENA_ALIGNMENT) static uint8_t arena[GRAPH_ARENA_BYTES];
static const int8_t x[] = {{{x}}};
static const int8_t first[] = {{{first}}};
static const int8_t wanted[] = {{{wanted}}};
static int8_t found[sizeof wanted];

int main(void) {{
    const graph_inputs inputs = {{.input0 = x, .input1 = first}};
    const graph_outputs outputs = {{.output0 = found}};
    graph_model model;

    return graph_init(&model, arena, sizeof arena) != 0 || graph_run(&model, &inputs, &outputs) != 0 ||
           memcmp(found, wanted, sizeof wanted) != 0;
}}
"""


def _scaled(graph: Graph, x: Tensor, to: DType, shift: int, zero_points: tuple[int, int]) -> Tensor:
    numbers = (RNG.integers(2**30, 2**31, 1), I32), (np.array([shift]), I8)
    zeros = (np.array([zero_points[0]]), x.dtype), (np.array([zero_points[1]]), to)
    kinds = {I8: np.int8, I32: np.int32}
    operands = [graph.constant(data.astype(kinds[dtype]), dtype) for data, dtype in (*numbers, *zeros)]
    return graph.append("RESCALE", [x, *operands], {"output_dtype": to, "scale32": True}).output


def _cell(graph: Graph, state: Tensor, x: Tensor, weights: Tensor) -> Tensor:
    """A convolution, a sum and a table, whose scales are those of this time."""
    points = [graph.constant(np.array([point], np.int8), I8) for point in (3, 0)]
    bias = graph.constant(RNG.integers(-999, 999, WIDTH).astype(np.int32), I32)
    attrs: dict[str, Any] = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "acc_type": I32}
    sums = graph.append("CONV2D", [state, weights, bias, *points], attrs).output
    both = [_scaled(graph, _scaled(graph, sums, I8, 39, (0, 7)), I32, 11, (7, 0)), _scaled(graph, x, I32, 11, (-3, 0))]
    table = graph.constant(RNG.integers(-128, 128, 256).astype(np.int8), I8)
    total = _scaled(graph, graph.append("ADD", both, {}).output, I8, 51, (0, 1))
    return graph.append("TABLE", [total, table], {}).output


def _graph() -> Graph:
    graph = Graph()
    x, state = graph.input("x", (1, 1, TIMES, WIDTH), I8), graph.input("first", (1, 1, 1, WIDTH), I8)
    weights = graph.constant(RNG.integers(-127, 128, (WIDTH, 1, 1, WIDTH)).astype(np.int8), I8)
    states = []
    for time in range(TIMES):
        ends = [graph.constant(np.array(each), DType.SHAPE) for each in ((0, 0, time, 0), (1, 1, 1, WIDTH))]
        state = _cell(graph, state, graph.append("SLICE", [x, *ends], {}).output, weights)
        states.append(state)
    graph.outputs.append(graph.append("CONCAT", states, {"axis": 2}).output)
    return graph


@pytest.mark.parametrize("core", ["cortex-m55", "cortex-m4"])
def test_a_recurrent_layer_of_odd_sizes(core: str, tmp_path: Path) -> None:
    require("arm-none-eabi-gcc", "qemu-system-arm")
    graph = _graph()
    inputs = [RNG.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in graph.inputs]
    (wanted,) = reference_model.run(serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+INT")), inputs)
    assert len(set(wanted.reshape(-1).tolist())) > 20, "of few numbers a comparison says little"
    model = model_of_graph(graph, core)
    ((period, times),) = [(loop.period, loop.times) for loop in model.loops]
    assert (period, times) == (3, TIMES - 1)
    numbers = {"x": inputs[0], "first": inputs[1], "wanted": wanted}
    main = _MAIN.format(**{name: ", ".join(map(str, data.reshape(-1).tolist())) for name, data in numbers.items()})
    for path, text in {**sources([model], None), "main.c": main}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    objects = objects_of(tmp_path, model, MACHINES[core])
    build(tmp_path, ["-Os", "-I.", "-Icommon", "-Iprocessor", "main.c", *objects], MACHINES[core])
    assert run(tmp_path, MACHINES[core]) == (0, "")
