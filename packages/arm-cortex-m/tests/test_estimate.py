"""What is estimated of a model on a core."""

from __future__ import annotations

import re

import pytest
import torch

from arm_cortex_m.cores import CORES
from arm_cortex_m.firmware.estimate import (
    ESTIMATED_BY,
    compiled,
    factors_of,
    figures,
    step_cycles,
    step_instructions,
)
from arm_cortex_m.firmware.memory import Arena
from arm_cortex_m.firmware.processor_steps import model_of_graph
from arm_cortex_m.firmware.step_counts import FUNCTIONS
from arm_cortex_m.kernels import FILES
from arm_tosa_core import lower
from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.exir.pte import read
from arm_tosa_core.support.errors import UsageError
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.tosa.loader import load
from networks import Net, program


def tosa(scheme: str = "int8") -> bytes:
    (delegate,) = read(program("cortex-m55", scheme).pte).delegates
    return delegate.payload


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("scheme", ["int8", "int16x8"])
def test_steps_and_memory_add_up(name: str, scheme: str) -> None:
    made, model = compiled(CORES[name], tosa(scheme), {}), model_of_graph(load(tosa(scheme)), name)
    ports = sum(port.size for port in (*model.inputs, *model.outputs))
    assert made.payload == tosa(scheme) and made.estimated_by == ESTIMATED_BY
    assert made.figures["cycles"] == sum(layer.cycles for layer in made.layers)
    assert made.figures["instructions"] == sum(step_instructions(step, CORES[name]) for step in model.operators)
    assert made.figures["sram_kib"] * 1024 == Arena(model).size + ports
    assert made.figures["flash_kib"] * 1024 == sum(value.size for value in model.constants) > 0
    assert min(layer.cycles for layer in made.layers) > 0
    assert 0 < sum(tensor.size for tensor in made.at_peak) <= Arena(model).size + ports
    names = {tensor.name for op in load(tosa(scheme)).ops for tensor in op.outputs}
    assert {layer.tensor for layer in made.layers} <= names


@pytest.mark.parametrize("name", CORES)
def test_every_function_was_measured(name: str) -> None:
    forms = factors_of(CORES[name])
    assert [function for function in FUNCTIONS if not any(form.split(" ")[0] == function for form in forms)] == []
    headers = "\n".join(file.read_text() for file in FILES.glob("*.h"))
    declared = set(re.findall(r"^void (\w+)\(", headers, re.MULTILINE))
    assert declared == set(FUNCTIONS)


@pytest.mark.parametrize(("faster", "slower"), [("m85", "m55"), ("m55", "m4"), ("m7", "m33"), ("m33", "m4")])
def test_some_cores_take_fewer_cycles_than_others(faster: str, slower: str) -> None:
    cycles = [figures(CORES[f"cortex-{name}"], tosa())["cycles"] for name in (faster, slower)]
    assert cycles[0] < cycles[1]


def test_a_step_of_a_depthwise_convolution_waits_for_memory() -> None:
    core = CORES["cortex-m55"]
    steps = model_of_graph(load(tosa()), core.name).operators
    ratios = {step.ops[0].name: step_cycles(step, core) / step_instructions(step, core) for step in steps}
    assert ratios["DEPTHWISE_CONV2D"] == pytest.approx(1.6) and ratios["CONV2D"] == pytest.approx(1.2)


@pytest.mark.parametrize(("option", "megahertz"), [({}, 400), ({"clock_mhz": "160"}, 160)])
def test_the_clock_is_an_option(option: dict[str, str], megahertz: float) -> None:
    spec = TargetCompileSpec("cortex-m55", **option)
    made = lower(exported(Net().eval(), (torch.randn(1, 3, 16, 16),), spec, "int8"), spec).figures
    assert made.clock_hz == megahertz * 1e6 and made.ms == pytest.approx(made.cycles / megahertz / 1e3)
    assert made.instructions and f"at {megahertz} MHz" in made.notes[0]


def test_a_model_that_is_larger_than_the_chip_is_refused() -> None:
    core, taken = CORES["cortex-m4"], figures(CORES["cortex-m4"], tosa())["sram_kib"]
    assert compiled(core, tosa(), {"sram_size": str(round(taken * 1024))}).figures["sram_kib"] == taken
    for size in (str(round(taken * 1024) - 1), "1K"):
        with pytest.raises(
            UsageError, match=rf"sram_size={size} is missed: on cortex-m4 .* take {taken:,.1f} KiB of SRAM"
        ):
            compiled(core, tosa(), {"sram_size": size})
    with pytest.raises(UsageError, match="sram_size must be a size such as 512K"):
        compiled(core, tosa(), {"sram_size": "much"})


@pytest.mark.parametrize("text", ["fast", "0", "-5", "nan", "1e9"])
def test_a_clock_is_a_number(text: str) -> None:
    with pytest.raises(UsageError, match="clock_mhz of target 'cortex-m4' is a number of MHz"):
        compiled(CORES["cortex-m4"], tosa(), {"clock_mhz": text})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock_mhz": "fast"}, "clock_mhz of target 'cortex-m4' is a number of MHz"),
        ({"sram_size": "much"}, "sram_size must be a size such as 512K"),
    ],
)
def test_options_are_judged_before_anything_is_compiled(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TargetCompileSpec("cortex-m4", **options)
