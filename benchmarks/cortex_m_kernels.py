"""Instructions of the Cortex-M kernels beside CMSIS-NN's, on the layers of MLPerf Tiny's networks.

    python -m benchmarks.cortex_m_kernels --cmsis-nn FOLDER

FOLDER is a checkout of github.com/ARM-software/CMSIS-NN. Each layer runs once on QEMU's machine for the core, with one
nanosecond for an instruction (``-icount shift=0``), and SysTick tells the time: a count of instructions, to within one
tick, and not of cycles. CMSIS-NN is compiled with its own options (-Ofast), and its wrappers choose the function; what
they sum once for all runs (the weights of a linear layer) is outside of the count. Ours are compiled with -O2, and
their results are compared with the TOSA reference model's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from arm_cortex_m.kernels import FILES, Call, calls
from arm_tosa_core.tosa import reference_model
from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType, Tensor
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification
from benchmarks.results import ROOT, Run, add_results_option, record

BENCHMARK = "cortex_m_kernels"
_Array = np.ndarray[Any, Any]
SPEC = TosaSpecification.create_from_string("TOSA-1.0+INT")
CORES = ("cortex-m55", "cortex-m4")


@dataclass(frozen=True)
class Layer:
    """A layer: ``conv``, ``depthwise``, ``linear``, ``add`` of two, ``mean`` or ``max`` (pools without padding).

    Args:
        size: height, width and channels of the input.
        out: channels of the result.
        stride: of both axes; the padding is TensorFlow's SAME.
    """

    kind: str
    size: tuple[int, int, int]
    out: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1

    @property
    def out_size(self) -> tuple[int, int]:
        """Height and width of the result."""
        return -(-self.size[0] // self.stride), -(-self.size[1] // self.stride)

    @property
    def pad(self) -> tuple[int, int, int, int]:
        """Above, below, left and right."""
        if self.kind in ("mean", "max"):
            return 0, 0, 0, 0
        sides: list[int] = []
        for size, result, kernel in zip(self.size[:2], self.out_size, self.kernel, strict=True):
            both = max(0, (result - 1) * self.stride + kernel - size)
            sides += [both // 2, both - both // 2]
        return sides[0], sides[1], sides[2], sides[3]


LAYERS: Mapping[str, Layer] = {
    "resnet8: first": Layer("conv", (32, 32, 3), 16, (3, 3)),
    "resnet8: 16": Layer("conv", (32, 32, 16), 16, (3, 3)),
    "resnet8: 16 to 32": Layer("conv", (32, 32, 16), 32, (3, 3), 2),
    "resnet8: 32": Layer("conv", (16, 16, 32), 32, (3, 3)),
    "resnet8: 64": Layer("conv", (8, 8, 64), 64, (3, 3)),
    "resnet8: shortcut": Layer("conv", (31, 31, 16), 32, (1, 1), 2),
    "resnet8: last": Layer("linear", (1, 1, 64), 10),
    "ds_cnn: first": Layer("conv", (49, 10, 1), 64, (10, 4), 2),
    "ds_cnn: depthwise": Layer("depthwise", (25, 5, 64), 64, (3, 3)),
    "ds_cnn: 1x1": Layer("conv", (25, 5, 64), 64),
    "ds_cnn: last": Layer("linear", (1, 1, 64), 12),
    "mobilenet: first": Layer("conv", (96, 96, 3), 8, (3, 3), 2),
    "mobilenet: depthwise 8": Layer("depthwise", (48, 48, 8), 8, (3, 3)),
    "mobilenet: 1x1 8": Layer("conv", (48, 48, 8), 16),
    "mobilenet: depthwise 16, steps": Layer("depthwise", (48, 48, 16), 16, (3, 3), 2),
    "mobilenet: 1x1 16": Layer("conv", (24, 24, 16), 32),
    "mobilenet: depthwise 32": Layer("depthwise", (24, 24, 32), 32, (3, 3)),
    "mobilenet: 1x1 64": Layer("conv", (12, 12, 64), 64),
    "mobilenet: depthwise 128": Layer("depthwise", (6, 6, 128), 128, (3, 3)),
    "mobilenet: 1x1 128": Layer("conv", (6, 6, 128), 128),
    "mobilenet: depthwise 256": Layer("depthwise", (3, 3, 256), 256, (3, 3)),
    "mobilenet: 1x1 256": Layer("conv", (3, 3, 256), 256),
    "mobilenet: last": Layer("linear", (1, 1, 256), 2),
    "resnet8: add 16": Layer("add", (32, 32, 16), 16),
    "resnet8: add 64": Layer("add", (8, 8, 64), 64),
    "resnet8: mean": Layer("mean", (8, 8, 64), 64, (8, 8), 8),
    "ds_cnn: mean": Layer("mean", (25, 5, 64), 64, (25, 5), 25),
    "greatest of 2 x 2": Layer("max", (24, 24, 32), 32, (2, 2), 2),
    "autoencoder: first": Layer("linear", (1, 1, 640), 128),
    "autoencoder: 128": Layer("linear", (1, 1, 128), 128),
    "autoencoder: to 8": Layer("linear", (1, 1, 128), 8),
    "autoencoder: from 8": Layer("linear", (1, 1, 8), 128),
    "autoencoder: last": Layer("linear", (1, 1, 128), 640),
}

_MAIN = """
#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"
#include "board.h"
#include "tosa_binary_s8.h"
#include "tosa_conv2d_s8.h"
#include "tosa_depthwise_conv2d_s8.h"
#include "tosa_pool2d_s8.h"
#include <stdio.h>
#include <string.h>

#define TICKS_CONTROL (*(volatile uint32_t *)0xE000E010u)
#define TICKS_FIRST (*(volatile uint32_t *)0xE000E014u)
#define TICKS_LEFT (*(volatile uint32_t *)0xE000E018u)

void board_exit(int status);

static int8_t theirs[1 << 16];
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
static const cmsis_nn_dims from{n} = {{1, {h}, {w}, {c}}}, filters{n} = {{{filter}}}, to{n} = {{1, {oh}, {ow}, {oc}}};
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
_THEIRS = {"conv": _CONV, "depthwise": _DEPTHWISE, "linear": _LINEAR, "add": _ADD, "mean": _POOL, "max": _POOL}


@dataclass(frozen=True)
class _Built:
    graph: Graph
    weights: _Array
    biases: _Array
    multipliers: _Array
    shifts: _Array


def _constant(graph: Graph, dtype: DType, *numbers: int) -> Tensor:
    return graph.constant(np.array(numbers, np.int32 if dtype is DType.INT32 else np.int8), dtype)


def _built(layer: Layer) -> _Built:
    rng, graph = np.random.default_rng(0), Graph()
    channels, deep = layer.size[2], layer.kind == "depthwise"
    shape = (*layer.kernel, channels, 1) if deep else (layer.out, *layer.kernel, channels)
    depth = layer.kernel[0] * layer.kernel[1] * (1 if deep else channels)
    built = _Built(
        graph,
        rng.integers(-127, 127, shape, endpoint=True).astype(np.int8),
        rng.integers(-3000, 3000, layer.out).astype(np.int32),
        rng.integers(2**30, 2**31, layer.out).astype(np.int32),
        np.full(layer.out, 38 + int(np.log2(depth) / 2), np.int8),
    )
    x = graph.input("x", (1, *layer.size), DType.INT8)
    zero, window = _constant(graph, DType.INT8, 0), {"stride": (layer.stride,) * 2, "pad": layer.pad}
    if layer.kind == "add":
        y = graph.input("y", (1, *layer.size), DType.INT8)
        both = [_scaled_up(graph, x, -3, 1073741824, 10), _scaled_up(graph, y, 4, 1358034958, 11)]
        graph.outputs.append(_scaled(graph, graph.append("ADD", both, {}).output, [1482525670], [49]))
    elif layer.kind == "max":
        graph.outputs.append(graph.append("MAX_POOL2D", [x], {"kernel": layer.kernel, **window}).output)
    elif layer.kind == "mean":
        attrs = {"kernel": layer.kernel, "acc_type": DType.INT32, "stride": layer.kernel, "pad": (0, 0, 0, 0)}
        graph.outputs.append(graph.append("AVG_POOL2D", [x, zero, zero], attrs).output)
    else:
        operands = [x, graph.constant(built.weights, DType.INT8), graph.constant(built.biases, DType.INT32)]
        operands += [_constant(graph, DType.INT8, -3), zero]
        attrs = {**window, "dilation": (1, 1), "acc_type": DType.INT32}
        sums = graph.append("DEPTHWISE_CONV2D" if deep else "CONV2D", operands, attrs).output
        graph.outputs.append(_scaled(graph, sums, built.multipliers.tolist(), built.shifts.tolist()))
    return built


def _scaled_up(graph: Graph, x: Tensor, zero_point: int, multiplier: int, shift: int) -> Tensor:
    factors = [_constant(graph, DType.INT32, multiplier), _constant(graph, DType.INT8, shift)]
    ends = [_constant(graph, DType.INT8, zero_point), _constant(graph, DType.INT32, 0)]
    return graph.append("RESCALE", [x, *factors, *ends], {"output_dtype": DType.INT32, "scale32": True}).output


def _scaled(graph: Graph, x: Tensor, multipliers: list[int], shifts: list[int]) -> Tensor:
    factors = [_constant(graph, DType.INT32, *multipliers), _constant(graph, DType.INT8, *shifts)]
    ends = [_constant(graph, DType.INT32, 0), _constant(graph, DType.INT8, -5)]
    attrs = {"output_dtype": DType.INT8, "scale32": True, "per_channel": len(multipliers) > 1}
    return graph.append("RESCALE", [x, *factors, *ends], attrs).output


def _numbers(array: _Array) -> str:
    return ", ".join(map(str, array.reshape(-1).tolist()))


def _texts(number: int, layer: Layer) -> tuple[str, Call]:
    from kernel_program import Case, case_text

    built = _built(layer)
    (call,) = calls(built.graph)
    assert isinstance(call, Call)
    rng = np.random.default_rng(1)
    data = [rng.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in built.graph.inputs]
    (wanted,) = reference_model.run(serialize(built.graph, SPEC), data)
    height, width, channels = layer.size
    filters = {
        "conv": (layer.out, *layer.kernel, channels),
        "linear": (channels, 1, 1, layer.out),
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
        "h": height,
        "w": width,
        "c": channels,
        "oh": wanted.shape[1],
        "ow": wanted.shape[2],
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


def measure(core: str, cmsis_nn: Path, layers: Mapping[str, Layer]) -> dict[str, dict[str, int]]:
    """Instructions of both, by layer."""
    sys.path.insert(0, str(ROOT / "tests"))
    from kernel_program import MACHINES, build, run

    machine = MACHINES[core]
    texts = [_texts(number, layer) for number, layer in enumerate(layers.values())]
    runs = [
        f'    layer("{name}", unit, our{n}, run{n}, prepare{n}, their{n}, output{n}, sizeof output{n} - 1u);'
        for n, name in enumerate(layers)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "main.c").write_text(_MAIN.format(cases="\n".join(text for text, _ in texts), runs="\n".join(runs)))
        objects = _compiled(cmsis_nn, machine.flags, folder)
        ours = sorted({str(FILES / call.source) for _, call in texts})
        build(folder, ["-O2", "-I", str(cmsis_nn / "Include"), "main.c", *ours, *objects], machine)
        status, text = run(folder, machine, ["-icount", "shift=0"])
    assert status == 0, text[:2000]
    out = {}
    for line in text.splitlines():
        layer, first, second, unit, wrong, failed, difference = line.split(";")
        assert (wrong, failed) == ("0", "0") and int(difference) <= 1, line
        each = 2_000_000 / int(unit)
        counts = round(int(first) * each), round(int(second) * each)
        out[layer] = {"instructions": counts[0], "cmsis_nn_instructions": counts[1]}
    return out


def _compiled(cmsis_nn: Path, flags: Sequence[str], folder: Path) -> list[str]:
    """CMSIS-NN's sources of integers as objects."""
    sources = [path for path in sorted((cmsis_nn / "Source").glob("*/*.c")) if not path.stem.endswith(("f16", "f32"))]
    sources = [path for path in sources if path.stem != "arm_nntables_flt"]
    command = ["arm-none-eabi-gcc", "-mthumb", *flags, "-Ofast", "-ffunction-sections", "-fdata-sections"]
    include = ["-I", str(cmsis_nn / "Include"), "-c", *map(str, sources)]
    subprocess.run([*command, *include], cwd=folder, check=True, capture_output=True, timeout=600)
    return [f"{path.stem}.o" for path in sources]


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of ratios."""
    return exp(sum(map(log, ratios)) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cmsis-nn", type=Path, required=True, metavar="FOLDER", help="a checkout of CMSIS-NN")
    parser.add_argument("--cores", nargs="+", choices=CORES, default=CORES)
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS), metavar="LAYER")
    add_results_option(parser, BENCHMARK)
    options = parser.parse_args()
    layers = {name: LAYERS[name] for name in options.layers}
    ratios: dict[str, list[float]] = {}
    for measurement in record(options.results, _measured(options.cores, options.cmsis_nn.resolve(), layers)):
        core, figures = measurement.case["core"], measurement.metrics
        print(f"{core} {measurement.case['layer']:32} {figures}")
        ratios.setdefault(core, []).append(figures["instructions"] / figures["cmsis_nn_instructions"])
    for core, each in ratios.items():
        print(f"{core}: geometric mean of ours by CMSIS-NN's {geometric_mean(each):.3f}")


def _measured(cores: Sequence[str], cmsis_nn: Path, layers: Mapping[str, Layer]) -> Iterator[Any]:
    run = Run.here(BENCHMARK)
    for core in cores:
        for layer, figures in measure(core, cmsis_nn, layers).items():
            yield run.measured({"core": core, "layer": layer}, "ours", figures)


if __name__ == "__main__":
    main()
