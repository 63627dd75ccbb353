"""Fits the instructions of a step on a Cortex-M on those that QEMU counts.

    python -m benchmarks.cortex_m_costs --write

Each network is compiled for a Cortex-M and built as firmware is. It runs once on QEMU's machine for the core, with one
nanosecond for an instruction (``-icount shift=0``), and SysTick is read between the steps. A step's instructions are a
sum of the counts of its loops (``arm_cortex_m.firmware.step_counts``), whose factors are fitted on the networks that
are not ``HELD_OUT`` so that relative errors are small. ``--write`` writes them to the package's ``step_costs.json``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.optimize import nnls

from arm_cortex_m.cores import CORES
from arm_cortex_m.firmware.formats.sources import sources
from arm_cortex_m.firmware.model import Model
from arm_cortex_m.firmware.processor_steps import model_of_graph
from arm_cortex_m.firmware.step_counts import SEVERAL, form_and_counts
from arm_tosa_core import lower
from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.tosa.loader import load
from benchmarks.results import ROOT, Run, add_results_option, record

BENCHMARK = "cortex_m_costs"
FILE = ROOT / "packages/arm-cortex-m/src/arm_cortex_m/firmware/step_costs.json"
#: The form of operators that no network of these has.
OTHERS = "others"
#: Instructions of a tick of SysTick, and of steps whose errors are judged one by one.
_TICK, _LARGE = 40, 10_000
#: Ticks that say too little of a step.
_FEW = 4
#: The cores that are measured: one for each kind of vectors.
MEASURED = ("cortex-m55", "cortex-m4")
#: Of tests/models, those that fit the machines, and how they are quantized; ``LAYERS`` has what these have not.
NETWORKS = {
    "int8": ("layers", "conformer", "convnext", "digits", "llama", "lstm", "shufflenet_v2", "swin", "wav2letter"),
    "int16x8": ("layers", "conformer", "convnext", "digits", "lstm", "shufflenet_v2"),
    "int8x4": ("conformer", "convnext", "digits", "shufflenet_v2", "wav2letter"),
}
#: Of ``Layers``: channels of the input and of the result, kernel, stride, padding; and by how many depthwise results.
TRANSPOSED = (
    (16, 8, (2, 2), 2, 0), (16, 16, (4, 4), 2, 1), (12, 20, (3, 3), 2, 1), (5, 7, (3, 3), 1, 1), (8, 8, (5, 3), 3, 0),
    (3, 12, (2, 4), 2, 0), (16, 1, (4, 4), 4, 0), (32, 16, (3, 3), 2, 1), (32, 32, (2, 2), 2, 0),
)  # fmt: skip
DEPTHWISE = (
    (16, 2, (3, 3), 1),
    (8, 4, (3, 3), 2),
    (5, 3, (3, 3), 1),
    (32, 2, (5, 5), 1),
    (12, 2, (3, 1), 2),
    (3, 8, (3, 3), 2),
)
#: Those that only judge: MLPerf Tiny's.
HELD_OUT = ("autoencoder", "ds_cnn", "mobilenet_v1_025", "resnet8")

_MAIN = """
#include "board.h"
#include "models/graph.h"

#include <stdio.h>

#define TICKS_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define TICKS_FIRST (*(volatile uint32_t *)0xE000E014u)
#define TICKS_LEFT (*(volatile uint32_t *)0xE000E018u)

void board_exit(int status);

uint32_t ticks[{steps}];
_Alignas(GRAPH_ARENA_ALIGNMENT) static uint8_t arena[GRAPH_ARENA_BYTES];
{arrays}
static void loop(void) {{
    uint32_t count = 1000000u;

    __asm__ volatile("1:\\n subs %0, %0, #1\\n bne 1b\\n" : "+r"(count) : : "cc");
}}

int main(void) {{
    const graph_inputs inputs = {{{inputs}}};
    const graph_outputs outputs = {{{outputs}}};
    graph_model model;
    char line[80];
    uint32_t before;

{fill}
    TICKS_FIRST = 0xFFFFFFu;
    TICKS_LEFT = 0u;
    TICKS_CONTROL = 5u;
    before = TICKS_LEFT;
    loop();
    (void)snprintf(line, sizeof line, "%lu", (unsigned long)((before - TICKS_LEFT) & 0xFFFFFFu));
    board_print(line);
    if (graph_init(&model, arena, sizeof arena) != 0 || graph_run(&model, &inputs, &outputs) != 0) {{
        return 1;
    }}
    for (unsigned i = 1; i < {steps}u; i++) {{
        (void)snprintf(line, sizeof line, "%lu", (unsigned long)((ticks[i - 1u] - ticks[i]) & 0xFFFFFFu));
        board_print(line);
    }}
    return 0;
}}
"""


def measure(model: Model, core: str) -> list[int]:
    """Instructions of each step, to within 40, with the compiler's options that firmware is built with."""
    from kernel_program import MACHINES, build, objects_of, run

    model = replace(model, loops=())  # each step by itself
    ports = [*model.inputs, *model.outputs]
    main = _MAIN.format(
        steps=len(model.steps) + 1,
        arrays="\n".join(f"_Alignas(16) static uint8_t {port.name}[{port.size}];" for port in ports),
        inputs=", ".join(f".{port.name} = (void *){port.name}" for port in model.inputs),
        outputs=", ".join(f".{port.name} = (void *){port.name}" for port in model.outputs),
        fill="\n".join(
            f"    for (size_t i = 0; i < sizeof {port.name}; i++) {{ {port.name}[i] = (uint8_t)({expression}); }}"
            for port in model.inputs
            for expression in ("i * 37u" if port.dtype in ("int8", "int16") else "0u",)
        ),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in {**sources([model], None), "main.c": main}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(_with_ticks(text) if path == "models/graph.c" else text)
        objects = objects_of(folder, model, MACHINES[core])
        build(folder, ["-I.", "-Icommon", "-Iprocessor", "-Os", "main.c", *objects], MACHINES[core])
        status, text = run(folder, MACHINES[core], ["-icount", "shift=0"])
    assert status == 0, text[:2000]
    unit, *counts = map(int, text.split())
    assert len(counts) == len(model.steps)
    return [round(count * 2_000_000 / unit) for count in counts]


def _with_ticks(text: str) -> str:
    """The source of a model that reads the time before each step, and behind the last."""
    start, end = "#include <stdint.h>\nextern uint32_t ticks[];\n", "\n    return MODEL_OK;\n}\n"
    now = "ticks[{0}] = *(volatile uint32_t *)0xE000E018u;"
    steps = re.subn(r"\n    (/\* Step (\d+),)", lambda m: f"\n    {now.format(int(m[2]) - 1)}\n    {m[1]}", text)
    body, found = steps
    head, _, tail = body.rpartition(end)
    return f"{start}{head}\n    {now.format(found)}{end}{tail}"


class Layers(torch.nn.Module):
    """Transposed convolutions and depthwise ones of several results for each channel, beside one another."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = [
            torch.nn.ConvTranspose2d(channels, results, kernel, stride, padding)
            for channels, results, kernel, stride, padding in TRANSPOSED
        ]
        layers += [
            torch.nn.Conv2d(
                channels, channels * times, kernel, stride, "valid" if stride > 1 else "same", groups=channels
            )
            for channels, times, kernel, stride in DEPTHWISE
        ]
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(layer(x[:, : layer.in_channels]) for layer in self.layers)


def layers() -> tuple[torch.nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]:
    """Its module and its inputs, as those of tests/models are."""
    torch.manual_seed(0)
    return Layers().eval(), lambda seed: (torch.randn(1, 32, 11, 9, generator=torch.Generator().manual_seed(seed)),)


@dataclass(frozen=True)
class Step:
    """A step that was measured.

    Args:
        form, counts: as of ``form_and_counts``.
    """

    form: str
    counts: Sequence[float]
    instructions: int


@cache
def _graphs(name: str, scheme: str) -> list[bytes]:
    """A network as TOSA. Without a table of costs the lowering does not ask for which core it is."""
    from models import MODELS, ZOO

    spec = TargetCompileSpec(MEASURED[0])
    module, inputs = {**MODELS, **ZOO, "layers": layers}[name]()
    with patch("arm_cortex_m.firmware.estimate.factors_of", return_value={OTHERS: [0.0] * 3}):  # the table may be older
        pte = lower(exported(module, inputs(0), spec, scheme), spec).buffer
    return [delegate.payload for delegate in delegates(pte)]


def steps_of(name: str, scheme: str, core: str) -> list[Step]:
    """The steps of a network."""
    out = []
    for tosa in _graphs(name, scheme):
        model = model_of_graph(load(tosa), core)
        for step, count in zip(model.operators, measure(model, core), strict=True):
            out.append(Step(*form_and_counts(step, CORES[core].vectors), count))
    print(core, name, scheme, len(out), "steps", flush=True)
    return out


def fitted(steps: Sequence[Step]) -> dict[str, list[float]]:
    """The factors of each form, none negative, with the least squares of relative errors; of others, those of all
    operators by themselves without a function in ``arm_cortex_m.kernels``, by the name ``OTHERS``. A form of which no
    step takes more than a few ticks of the clock is one of these."""
    rows: dict[str, list[Step]] = {}
    for step in steps:
        rows.setdefault(step.form, []).append(step)
        if not step.form.startswith("tosa_") and step.form != SEVERAL:
            rows.setdefault(OTHERS, []).append(step)
    told = {form: each for form, each in rows.items() if max(step.instructions for step in each) > _FEW * _TICK}
    return {form: _least_squares(each) for form, each in sorted(told.items())}


def _least_squares(steps: Sequence[Step]) -> list[float]:
    counted = np.array([step.instructions for step in steps], float)
    weights = 1 / (counted + 2 * _TICK)
    factors, _ = nnls(np.array([step.counts for step in steps], float) * weights[:, None], counted * weights)
    return [float(f"{factor:.4g}") for factor in factors]


def predicted(factors: Mapping[str, Sequence[float]], steps: Sequence[Step]) -> list[float]:
    """Instructions of each step."""
    return [float(np.dot(factors.get(step.form, factors[OTHERS]), step.counts)) for step in steps]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    add_results_option(parser, BENCHMARK)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    table: dict[str, dict[str, list[float]]] = {}
    for measurement in record(options.results, _measured(table)):
        print(*measurement.case.values(), measurement.metrics)
    if options.write:
        rows = {core: {form: json.dumps(each) for form, each in forms.items()} for core, forms in table.items()}
        text = json.dumps(rows, indent=2)
        FILE.write_text(re.sub(r'"(\[[^"]*\])"', r"\1", text) + "\n", "utf-8")


def _measured(table: dict[str, dict[str, list[float]]]) -> Iterator[Any]:
    run = Run.here(BENCHMARK)
    for core in MEASURED:
        table[CORES[core].vectors] = factors = fitted(
            [step for scheme, names in NETWORKS.items() for name in names for step in steps_of(name, scheme, core)]
        )
        for scheme in NETWORKS:
            for name in HELD_OUT:
                steps = steps_of(name, scheme, core)
                counted, estimates = sum(step.instructions for step in steps), predicted(factors, steps)
                parts = [
                    abs(estimate - step.instructions) / step.instructions
                    for step, estimate in zip(steps, estimates, strict=True)
                    if step.instructions > _LARGE
                ]
                figures = {
                    "instructions": counted,
                    "estimate": round(sum(estimates)),
                    "greatest_error_of_a_step": round(max(parts), 3),
                }
                yield run.measured({"core": core, "network": name, "scheme": scheme}, "ours", figures)


if __name__ == "__main__":
    main()
