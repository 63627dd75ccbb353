"""Kernels of whole operators: the reference model's results, bit for bit, on the host and on QEMU's Cortex-M."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_compiler import WARNINGS
from kernel_convolutions import CONV, DEPTHWISE, FOUR_BITS, RNG, TRANSPOSED_CONV, WIDE, convolution, wide
from kernel_others import ROWS as OTHER_ROWS
from kernel_others import matmul_wide, softmaxed

from arm_cortex_m.kernels import Call, calls
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.dtypes import numpy_dtype
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from build_tools import require
from kernel_program import MACHINES, Case, wrong_cases

SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT+int16+int4+doubleround")
ROWS = CONV | DEPTHWISE | FOUR_BITS | WIDE | TRANSPOSED_CONV | OTHER_ROWS


def inputs_of(graph: Graph) -> list[np.ndarray[Any, Any]]:
    out = []
    for tensor in graph.inputs:
        kind = np.iinfo(numpy_dtype(tensor.dtype))
        array = RNG.integers(kind.min, kind.max, tensor.shape, endpoint=True).astype(kind.dtype)
        array.flat[:2] = kind.min, kind.max
        out.append(array)
    return out


def case_of(graph: Graph) -> Case:
    (call,) = steps = calls(graph)
    assert isinstance(call, Call), steps
    assert len(call.ops) == len(list(graph.ops))
    arrays = inputs_of(graph)
    (wanted,) = reference_model.run(serialize(graph, SPEC), arrays)
    assert wanted.min() < wanted.max(), "of a constant, a comparison says nothing"
    given = dict(zip(graph.inputs, arrays, strict=True))
    return Case(call, [given[tensor] for tensor in call.inputs], wanted)


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {name: case_of(graph) for name, graph in ROWS.items()}


def test_kernels_are_the_reference_models(cases: dict[str, Case], tmp_path: Path) -> None:
    require("gcc")
    assert wrong_cases(tmp_path, cases, WARNINGS) == []


@pytest.mark.parametrize("core", MACHINES)
def test_they_are_on_a_core(core: str, cases: dict[str, Case], tmp_path: Path) -> None:
    require("arm-none-eabi-gcc", "qemu-system-arm")
    assert wrong_cases(tmp_path, cases, WARNINGS, MACHINES[core]) == []


OTHERS: dict[str, Graph] = {
    "sums that do not fit when shifted": convolution((1, 2, 2, 64), 4, scale=[2**30], shift=[20]),
    "int16, sums of more than 32 bits": wide((1, 1, 1, 700), 2, weights_of=(100, 127)),
    "int16, sums that are halved": wide((1, 2, 2, 8), 3, narrow=(16384, 15)),
    "int16, MATMUL of sums of more than 32 bits": matmul_wide((1, 3, 16), 4, (16384, 14), 0.0001),
    "shifts too far apart": convolution((1, 2, 2, 4), 2, scale=[2**30, 2**30], shift=[31, 62]),
    "rounded twice, large factors": convolution(
        (1, 2, 2, 4), 2, scale=[2**30], shift=[32], rounding_mode="DOUBLE_ROUND"
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay_operators(name: str) -> None:
    """Factors that the kernels do not compute exactly."""
    assert calls(OTHERS[name]) == list(OTHERS[name].ops)


def test_a_sum_that_is_read_twice_stays() -> None:
    graph = convolution((1, 2, 2, 4), 3)
    graph.outputs.append(next(iter(graph.ops)).output)
    assert calls(graph) == list(graph.ops)


SOFTMAX_AND_MORE: dict[str, Callable[[Graph], Tensor]] = {
    "the exponentials": lambda graph: next(op.output for op in graph.ops if op.name == "TABLE"),
    "the greatest": lambda graph: next(iter(graph.ops)).output,
}


@pytest.mark.parametrize("read", SOFTMAX_AND_MORE)
def test_a_softmax_of_which_more_is_read_is_none(read: str) -> None:
    graph = softmaxed((2, 9))
    graph.outputs.append(SOFTMAX_AND_MORE[read](graph))
    functions = [step.function for step in calls(graph) if isinstance(step, Call)]
    assert functions and "tosa_softmax_s8" not in functions
