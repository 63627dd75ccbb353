"""Instructions of LSTMs on a Cortex-M beside CMSIS-NN's function for a sequence.

    python -m benchmarks.cortex_m_lstm --cmsis-nn FOLDER

FOLDER is a checkout of github.com/ARM-software/CMSIS-NN. Each layer is ``torch.nn.LSTM`` with random weights, quantized
to int8 and built as firmware is; ``arm_lstm_unidirectional_s8`` has the same sizes and other random numbers. The two do
not compute the same: CMSIS-NN has gates and a cell of 16 bits and one scale for all steps, ours are TOSA's operators
with 8 bits, whose scales are those of each step. Both run once in QEMU, as in ``benchmarks.cortex_m_kernels``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from arm_cortex_m.firmware.formats.sources import sources
from arm_cortex_m.firmware.processor_steps import model_of_graph
from arm_tosa_core import lower
from arm_tosa_core.exir.compile_spec import TargetCompileSpec
from arm_tosa_core.exir.pte import delegates
from arm_tosa_core.testing.harness import exported
from arm_tosa_core.tosa.loader import load
from benchmarks.cortex_m_kernels import CORES, compiled
from benchmarks.cortex_m_networks import LSTMS, Lstm
from benchmarks.results import ROOT, Measurement, Run, add_results_option, record

BENCHMARK = "cortex_m_lstm"


_MAIN = """
#include "arm_nnfunctions.h"
#include "board.h"
#include "models/graph.h"

#include <stdio.h>

#define TICKS_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define TICKS_FIRST (*(volatile uint32_t *)0xE000E014u)
#define TICKS_LEFT (*(volatile uint32_t *)0xE000E018u)

void board_exit(int status);

_Alignas(GRAPH_ARENA_ALIGNMENT) static uint8_t arena[GRAPH_ARENA_BYTES];
static int8_t input[{steps} * {features}], ours[{steps} * {hidden}], theirs[{steps} * {hidden}];
static int16_t first[{hidden}], second[{hidden}], cell[{hidden}];
static cmsis_nn_lstm_context context = {{first, second, cell, NULL}};
{arrays}
#define GATE(activation) {{SCALE, weights_of_input, biases, SCALE, weights_of_hidden, biases, biases, activation}}
#define SCALE 1518500250, -9
static const cmsis_nn_lstm_params params = {{
    0, 1, {steps}, {features}, {hidden}, 3, 1073741824, -14, 1073741824, -14, 32767, -12, 1073741824, -21, 5,
    GATE(ARM_SIGMOID), GATE(ARM_SIGMOID), GATE(ARM_TANH), GATE(ARM_SIGMOID),
}};

static void loop(void) {{
    uint32_t count = 1000000u;

    __asm__ volatile("1:\\n subs %0, %0, #1\\n bne 1b\\n" : "+r"(count) : : "cc");
}}

int main(void) {{
    const graph_inputs inputs = {{.input0 = input}};
    const graph_outputs outputs = {{.output0 = ours}};
    graph_model model;
    uint32_t before[4];
    char line[80];
    int failed = graph_init(&model, arena, sizeof arena) != 0;

    for (unsigned i = 0; i < sizeof input; i++) {{
        input[i] = (int8_t)(i * 37u);
    }}
    TICKS_FIRST = 0xFFFFFFu;
    TICKS_LEFT = 0u;
    TICKS_CONTROL = 5u;
    before[0] = TICKS_LEFT;
    loop();
    before[1] = TICKS_LEFT;
    failed |= graph_run(&model, &inputs, &outputs) != 0;
    before[2] = TICKS_LEFT;
    failed |= arm_lstm_unidirectional_s8(input, theirs, &params, &context) != 0;
    before[3] = TICKS_LEFT;
    for (unsigned i = 0; i < 3u; i++) {{
        (void)snprintf(line, sizeof line, "%lu", (unsigned long)((before[i] - before[i + 1u]) & 0xFFFFFFu));
        board_print(line);
    }}
    return failed;
}}
"""


class _Sequence(torch.nn.Module):
    def __init__(self, layer: Lstm) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(layer.features, layer.hidden, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.lstm(x)[0]
        return result


def graph_of(layer: Lstm, core: str) -> bytes:
    """The layer quantized to int8, as TOSA."""
    torch.manual_seed(0)
    spec = TargetCompileSpec(core)
    module, inputs = _Sequence(layer).eval(), (torch.randn(1, layer.steps, layer.features),)
    (delegate,) = delegates(lower(exported(module, inputs, spec, "int8"), spec).buffer)
    return delegate.payload


def measure(core: str, tosa: bytes, layer: Lstm, cmsis_nn: Path, objects: Sequence[str]) -> tuple[int, int]:
    """Instructions of ours and of CMSIS-NN's.

    Args:
        objects: CMSIS-NN's, compiled for the core.
    """
    from kernel_program import MACHINES, build, objects_of, run

    model = model_of_graph(load(tosa), core)
    rng = np.random.default_rng(0)
    sizes = {"weights_of_input": layer.features, "weights_of_hidden": layer.hidden}
    arrays = [
        f"static const int8_t {name}[] = {{{', '.join(map(str, rng.integers(-127, 128, layer.hidden * size)))}}};"
        for name, size in sizes.items()
    ]
    arrays.append(
        f"static const int32_t biases[] = {{{', '.join(map(str, rng.integers(-3000, 3000, layer.hidden)))}}};"
    )
    main = _MAIN.format(steps=layer.steps, features=layer.features, hidden=layer.hidden, arrays="\n".join(arrays))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in {**sources([model], None), "main.c": main}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        ours = objects_of(folder, model, MACHINES[core])
        include = ["-I", str(cmsis_nn / "Include"), "-I.", "-Icommon", "-Iprocessor"]
        build(folder, [*include, "main.c", *ours, *objects], MACHINES[core])
        status, text = run(folder, MACHINES[core], ["-icount", "shift=0"])
    assert status == 0, text[:2000]
    unit, *counts = map(int, text.split())
    first, second = (round(count * 2_000_000 / unit) for count in counts)
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cmsis-nn", type=Path, required=True, metavar="FOLDER", help="a checkout of CMSIS-NN")
    parser.add_argument("--cores", nargs="+", choices=CORES, default=CORES)
    add_results_option(parser, BENCHMARK)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    for measurement in record(options.results, _measured(options.cores, options.cmsis_nn.resolve())):
        print(*measurement.case.values(), measurement.side, measurement.metrics["instructions"])


def _measured(cores: Sequence[str], cmsis_nn: Path) -> Iterator[Measurement]:
    run = Run.here(BENCHMARK)
    for core in cores:
        with tempfile.TemporaryDirectory() as folder:
            objects = compiled(cmsis_nn, core, Path(folder))
            for layer in LSTMS:
                counts = measure(core, graph_of(layer, core), layer, cmsis_nn, objects)
                for side, count in zip(("ours", "cmsis_nn"), counts, strict=True):
                    yield run.measured({"core": core, "layer": str(layer)}, side, {"instructions": count})


if __name__ == "__main__":
    main()
