"""Instructions of the Cortex-M kernels beside CMSIS-NN's, on the layers of small networks.

    python -m benchmarks.cortex_m_kernels --cmsis-nn FOLDER

FOLDER is a checkout of github.com/ARM-software/CMSIS-NN. Each layer runs once on QEMU's machine for the core, with one
nanosecond for an instruction (``-icount shift=0``), and SysTick tells the time: a count of instructions, to within one
tick, and not of cycles. CMSIS-NN is compiled with its own options (-Ofast), and its wrappers choose the function; what
they sum once for all runs (the weights of a linear layer) is outside of the count. Ours are compiled with -O2, and
their results are compared with the TOSA reference model's, and with CMSIS-NN's, which differ by 1 at most: one rounds
once, the other twice. Softmax is an exception: CMSIS-NN has exponentials of 32 bits, TOSA's operators of 8.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arm_cortex_m.firmware.formats.sources import with_sources
from arm_cortex_m.kernels import FILES, Call, calls
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from benchmarks.cortex_m_graphs import built_of
from benchmarks.cortex_m_networks import NETWORKS, Layer
from benchmarks.results import ROOT, Measurement, Run, add_results_option, record

BENCHMARK = "cortex_m_kernels"
_Array = np.ndarray[Any, Any]
SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT")
CORES = ("cortex-m55", "cortex-m4")


_MAIN = """
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"
#include "board.h"
#include "tosa_binary_s8.h"
#include "tosa_conv2d_s8.h"
#include "tosa_depthwise_conv2d_s8.h"
#include "tosa_matmul_s8.h"
#include "tosa_pool2d_s8.h"
#include "tosa_softmax_s8.h"
#include <stdio.h>
#include <string.h>

#define TICKS_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define TICKS_FIRST (*(volatile uint32_t *)0xE000E014u)
#define TICKS_LEFT (*(volatile uint32_t *)0xE000E018u)

void board_exit(int status);

static int8_t theirs[1 << 17];
static int8_t buffer[1 << 17];

{cases}
static uint32_t ticks(int (*function)(void), int *status) {{
    const uint32_t before = TICKS_LEFT;

    *status = function();
    return (before - TICKS_LEFT) & 0xFFFFFFu;
}}

static int loop(void) {{
    uint32_t count = 1000000u;

    __asm__ volatile("1:\\n subs %0, %0, #1\\n bne 1b\\n" : "+r"(count) : : "cc");
    return 0;
}}

/* The greatest difference between the two results: one rounds once, the other twice. */
static int difference(const int8_t *ours, size_t size) {{
    int greatest = 0;

    for (size_t i = 0; i < size; i++) {{
        const int less = ours[i] < theirs[i] ? theirs[i] - ours[i] : ours[i] - theirs[i];

        greatest = less > greatest ? less : greatest;
    }}
    return greatest;
}}

static void layer(const char *name, uint32_t unit, int (*our)(void), int (*check)(void), int (*prepare)(void),
                  int (*their)(void), const int8_t *result, size_t size) {{
    char line[120];
    int ours, status, prepared;
    const uint32_t first = ticks(our, &ours);
    uint32_t second;

    ours = check();
    prepared = prepare();
    second = ticks(their, &status);
    (void)snprintf(line, sizeof line, "%s;%lu;%lu;%lu;%d;%d;%d", name, (unsigned long)first, (unsigned long)second,
                   (unsigned long)unit, ours, prepared != 0 || status != 0, difference(result, size));
    board_print(line);
}}

int main(void) {{
    uint32_t unit;
    int status;

    TICKS_FIRST = 0xFFFFFFu;
    TICKS_LEFT = 0u;
    TICKS_CONTROL = 5u;
    unit = ticks(loop, &status);
{runs}
    return 0;
}}
"""

_LAYER = """
static int our{n}(void) {{
    {function}(&call{n}, output{n}{arguments});
    return 0;
}}

static const int32_t biases{n}[] = {{{biases}}};
static int32_t multipliers{n}[] = {{{multipliers}}};
static int32_t shifts{n}[] = {{{shifts}}};
static const int8_t filter{n}[] = {{{weights}}};
static const cmsis_nn_dims from{n} = {{{from_dims}}}, filters{n} = {{{filter}}}, to{n} = {{{to_dims}}};
static const cmsis_nn_dims bias{n} = {{1, 1, 1, {oc}}};
static cmsis_nn_context context{n};
{their}
"""
_CONV = """
static const cmsis_nn_conv_params params{n} = {{
    3, -5, {{{stride}, {stride}}}, {{{left}, {top}}}, {{1, 1}}, {{-128, 127}}
}};
static const cmsis_nn_per_channel_quant_params quant{n} = {{multipliers{n}, shifts{n}}};
static int prepare{n}(void) {{
    context{n}.buf = buffer;
    context{n}.size = arm_convolve_wrapper_s8_get_buffer_size(&params{n}, &from{n}, &filters{n}, &to{n});
    return context{n}.size > (int32_t)sizeof buffer;
}}
static int their{n}(void) {{
    return arm_convolve_wrapper_s8(&context{n}, &params{n}, &quant{n}, &from{n}, input{n}_0, &filters{n}, filter{n},
                                   &bias{n}, biases{n}, &to{n}, theirs);
}}
"""
_DEPTHWISE = """
static const cmsis_nn_dw_conv_params params{n} = {{
    3, -5, 1, {{{stride}, {stride}}}, {{{left}, {top}}}, {{1, 1}}, {{-128, 127}}
}};
static const cmsis_nn_per_channel_quant_params quant{n} = {{multipliers{n}, shifts{n}}};
static int prepare{n}(void) {{
    context{n}.buf = buffer;
    context{n}.size = arm_depthwise_conv_wrapper_s8_get_buffer_size(&params{n}, &from{n}, &filters{n}, &to{n});
    return context{n}.size > (int32_t)sizeof buffer;
}}
static int their{n}(void) {{
    return arm_depthwise_conv_wrapper_s8(&context{n}, &params{n}, &quant{n}, &from{n}, input{n}_0, &filters{n},
                                         filter{n}, &bias{n}, biases{n}, &to{n}, theirs);
}}
"""
_LINEAR = """
static const cmsis_nn_fc_params params{n} = {{3, 0, -5, {{-128, 127}}}};
static const cmsis_nn_quant_params quant{n} = {{multipliers{n}, shifts{n}, 1}};
static int prepare{n}(void) {{
    context{n}.buf = buffer;
    context{n}.size = arm_fully_connected_s8_get_buffer_size(&filters{n});
    if (context{n}.size > 0) {{
        arm_vector_sum_s8((int32_t *)(void *)buffer, {c}, {oc}, filter{n}, 3, 0, biases{n});
    }}
    return context{n}.size > (int32_t)sizeof buffer;
}}
static int their{n}(void) {{
    return arm_fully_connected_wrapper_s8(&context{n}, &params{n}, &quant{n}, &from{n}, input{n}_0, &filters{n},
                                          filter{n}, &bias{n}, biases{n}, &to{n}, theirs);
}}
"""
_ADD = """
static int prepare{n}(void) {{ return 0; }}
static int their{n}(void) {{
    return arm_elementwise_add_s8(input{n}_0, input{n}_1, 3, 1073741824, 1, -4, 1358034958, 0, 20, theirs, -5,
                                  1482525670, -18, -128, 127, {size});
}}
"""
_POOL = """
static const cmsis_nn_pool_params params{n} = {{{{{stride}, {stride}}}, {{0, 0}}, {{-128, 127}}}};
static int prepare{n}(void) {{
    context{n}.buf = buffer;
    context{n}.size = arm_avgpool_s8_get_buffer_size({ow}, {c});
    return context{n}.size > (int32_t)sizeof buffer;
}}
static int their{n}(void) {{
    return arm_{pool}_s8(&context{n}, &params{n}, &from{n}, input{n}_0, &filters{n}, &to{n}, theirs);
}}
"""
_SOFTMAX = """
static int prepare{n}(void) {{ return 0; }}
static int their{n}(void) {{
    arm_softmax_s8(input{n}_0, {w}, {c}, 1717986918, 23, -248, theirs);
    return 0;
}}
"""
_MATMUL = """
static const cmsis_nn_bmm_params params{n} = {{false, false, {{3, 4, -5, {{-128, 127}}}}}};
static const cmsis_nn_per_tensor_quant_params quant{n} = {{1073741824, -9}};
static int8_t turned{n}[{c} * {oc}];
static int prepare{n}(void) {{
    for (int i = 0; i < {c}; i++) {{
        for (int j = 0; j < {oc}; j++) {{
            turned{n}[j * {c} + i] = input{n}_1[i * {oc} + j];
        }}
    }}
    context{n}.buf = buffer;
    context{n}.size = arm_fully_connected_s8_get_buffer_size(&filters{n});
    return context{n}.size > (int32_t)sizeof buffer;
}}
static int their{n}(void) {{
    return arm_batch_matmul_s8(&context{n}, &params{n}, &quant{n}, &from{n}, input{n}_0, &filters{n}, turned{n},
                               &to{n}, theirs);
}}
"""
_THEIRS = {
    "conv": _CONV,
    "depthwise": _DEPTHWISE,
    "linear": _LINEAR,
    "add": _ADD,
    "mean": _POOL,
    "max": _POOL,
    "softmax": _SOFTMAX,
    "matmul": _MATMUL,
}


def _numbers(array: _Array) -> str:
    return ", ".join(map(str, array.reshape(-1).tolist()))


def _texts(number: int, layer: Layer) -> tuple[str, Call]:
    from kernel_program import Case, case_text

    built = built_of(layer)
    (call,) = calls(built.graph)
    assert isinstance(call, Call)
    rng = np.random.default_rng(1)
    data = [rng.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in built.graph.inputs]
    (wanted,) = reference_model.run(serialize(built.graph, SPEC), data)
    (_, width, channels), out = layer.size, layer.out_size
    filters = {
        "conv": (layer.out, *layer.kernel, channels),
        "linear": (channels, 1, 1, layer.out),
        "matmul": (1, 1, layer.out, channels),
    }.get(layer.kind, (1, *layer.kernel, layer.out))
    arguments = [f"input{number}_{index}" for index in range(len(data))]
    arguments += [f"scratch{number}"] if call.scratch else []
    words = {
        "n": number,
        "function": call.function,
        "arguments": "".join(f", {argument}" for argument in arguments),
        "biases": _numbers(built.biases),
        "multipliers": _numbers(built.multipliers),
        "shifts": _numbers(31 - built.shifts),
        "weights": _numbers(built.weights),
        "w": width,
        "c": channels,
        "from_dims": ", ".join(map(str, (width, 1, 1, channels) if layer.kind == "linear" else (1, *layer.size))),
        "to_dims": ", ".join(map(str, (width, 1, 1, layer.out) if layer.kind == "linear" else (1, *out, layer.out))),
        "ow": out[1],
        "oc": layer.out,
        "filter": ", ".join(map(str, filters)),
        "stride": layer.stride,
        "left": layer.pad[2],
        "top": layer.pad[0],
        "size": wanted.size,
        "pool": "max_pool" if layer.kind == "max" else "avgpool",
    }
    text = case_text(number, Case(call, data, wanted))
    return text + _LAYER.format(**words, their=_THEIRS[layer.kind].format(**words)), call


def measure(core: str, cmsis_nn: Path, objects: Sequence[str], layers: Sequence[Layer]) -> list[tuple[int, int]]:
    """Instructions of both, ours first, of each layer.

    Args:
        objects: CMSIS-NN's, as ``compiled`` has made them for the core.
    """
    from kernel_program import MACHINES, build, run

    texts = [_texts(number, layer) for number, layer in enumerate(layers)]
    runs = [
        f'    layer("{layer.kind}", unit, our{n}, run{n}, prepare{n}, their{n}, output{n}, sizeof output{n} - 1u);'
        for n, layer in enumerate(layers)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "main.c").write_text(_MAIN.format(cases="\n".join(text for text, _ in texts), runs="\n".join(runs)))
        ours = sorted({str(FILES / source) for _, call in texts for source in with_sources(call.source)})
        words = ["-O2", "-I", str(cmsis_nn / "Include"), "main.c", *ours, *objects]
        build(folder, words, MACHINES[core])
        status, text = run(folder, MACHINES[core], ["-icount", "shift=0"])
    assert status == 0, text[:2000]
    out = []
    for line in text.splitlines():
        kind, first, second, unit, wrong, failed, difference = line.split(";")
        assert (wrong, failed) == ("0", "0") and (int(difference) <= 1 or kind == "softmax"), line
        each = 2_000_000 / int(unit)
        out.append((round(int(first) * each), round(int(second) * each)))
    assert len(out) == len(layers)
    return out


def compiled(cmsis_nn: Path, core: str, folder: Path) -> list[str]:
    """CMSIS-NN's sources of integers as objects for a core, in a folder."""
    from kernel_program import MACHINES

    sources = [path for path in sorted((cmsis_nn / "Source").glob("*/*.c")) if not path.stem.endswith(("f16", "f32"))]
    sources = [path for path in sources if path.stem != "arm_nntables_flt"]
    command = [
        "arm-none-eabi-gcc",
        "-mthumb",
        *MACHINES[core].flags,
        "-Ofast",
        "-ffunction-sections",
        "-fdata-sections",
    ]
    include = ["-I", str(cmsis_nn / "Include"), "-c", *map(str, sources)]
    subprocess.run([*command, *include], cwd=folder, check=True, capture_output=True, timeout=600)
    return [str(folder / f"{path.stem}.o") for path in sources]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cmsis-nn", type=Path, required=True, metavar="FOLDER", help="a checkout of CMSIS-NN")
    parser.add_argument("--cores", nargs="+", choices=CORES, default=CORES)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NETWORK")
    add_results_option(parser, BENCHMARK)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    measured = _measured(options.cores, options.cmsis_nn.resolve(), options.networks)
    for measurement in record(options.results, measured):
        print(*measurement.case.values(), measurement.side, measurement.metrics["instructions"])


def _measured(cores: Sequence[str], cmsis_nn: Path, networks: Sequence[str]) -> Iterator[Measurement]:
    run = Run.here(BENCHMARK)
    for core in cores:
        with tempfile.TemporaryDirectory() as folder:
            objects, known = compiled(cmsis_nn, core, Path(folder)), set[Layer]()
            for name in networks:
                layers = [layer for layer in dict.fromkeys(NETWORKS[name]) if layer not in known]
                known.update(layers)
                for layer, counts in zip(layers, measure(core, cmsis_nn, objects, layers), strict=True):
                    for side, count in zip(("ours", "cmsis_nn"), counts, strict=True):
                        yield run.measured({"core": core, "layer": str(layer)}, side, {"instructions": count})


if __name__ == "__main__":
    main()
