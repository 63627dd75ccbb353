"""Every network in float, int8 and a16w8, on every target whose tools are here: lowered, run and compared with eager.

    python -m benchmarks.schemes                                           # all of tests/models' zoo: hours
    python -m benchmarks.schemes --networks swin unet --schemes int8 --targets vgf     # a part

TOSA runs on the reference model, Ethos-U on the functional model, VGF on the Vulkan device there is; integers of both
are compared with the reference model's bit for bit. Quantized with four samples, judged on eight others. Fails where
anything is left outside but what TOSA has no type for, or differs, or where integers lose more than 1.5 dB against the
eager quantized graph, or float is off by more than 1e-3 of the largest output.
"""

from __future__ import annotations

import argparse
import math
import operator
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch

from arm_tosa_core.lowering.exported_program import is_dequantize, is_int64_cast, is_quantize
from arm_tosa_core.plugin.entry_points import target as find_target
from arm_tosa_core.quantize.quantizer import TOSAQuantizer
from arm_tosa_core.testing.harness import Execution, export_quantized, scheme_config
from benchmarks.registry import NETWORKS, ZOO, network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

#: Those of the conformance kit; int16 has 16 bits for activations and 8 for weights.
SCHEMES = ("fp32", "int8", "int16")
TARGETS = ("tosa", "ethos-u55-128", "ethos-u85-256", "vgf")
SAMPLES = 8  # with two, figures of integers of a network with ten outputs wander by 2 dB
_ENOUGH = 100.0  # dB: float, and the eager graph of float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=list(ZOO))
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=SCHEMES)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    add_results_option(parser, "schemes")
    options = parser.parse_args()
    return run_and_record(options.results, _measured(options), wrong)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("schemes")
    for name in options.networks:
        module, inputs = network(name)
        for scheme in options.schemes:
            for target in options.targets:
                if scheme == "fp32" and not find_target(target).tosa_spec.support_float():
                    continue
                start = time.process_time()
                try:
                    metrics = figures(module, inputs, scheme, target)
                except Exception as error:
                    metrics = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
                metrics["cpu_s"] = round(time.process_time() - start, 1)
                yield run.measured({"network": name, "scheme": scheme, "target": target}, "ours", metrics)


def figures(module: torch.nn.Module, inputs: Any, scheme: str, name: str) -> dict[str, Any]:
    """What one network makes of some samples on one target, and what eager PyTorch makes of them."""
    target = find_target(name)
    if scheme == "fp32":
        program = torch.export.export(module, inputs(0))
    else:
        if target.compiler.compile_spec is None:
            sys.exit(f"{name} has no compile spec")
        quantizer = TOSAQuantizer(target.compiler.compile_spec()).set_global(scheme_config(scheme))
        program = export_quantized(module, inputs(0), quantizer, [inputs(seed) for seed in range(4)])
    run = Execution(program, target)
    samples = [inputs(seed) for seed in range(100, 100 + SAMPLES)]
    with torch.no_grad():
        exact = [module(*sample) for sample in samples]
        eager = [program.module()(*sample) for sample in samples]
        made = [run.run(sample)[0] for sample in samples]
    return {
        "delegates": len(run.regions),
        "outside": sorted(_outside(run)),
        "sqnr_db": _sqnr(exact, made),
        "eager_db": _sqnr(exact, eager),
        "error_of_largest": max(
            float((a - b).abs().max() / a.abs().max().clamp_min(1e-30)) for a, b in zip(eager, made, strict=True)
        ),
    }


def _outside(run: Execution) -> Iterator[str]:
    for node in run.program.graph.nodes:
        if node.op != "call_function" or node in run.analysis.accepted or node.target is operator.getitem:
            continue
        if node.meta.get("val") is None or is_quantize(node) or is_dequantize(node) or is_int64_cast(node):
            continue
        yield f"{node.target}: {run.analysis.rejected.get(node)}"


def _sqnr(exact: list[torch.Tensor], made: list[torch.Tensor]) -> float:
    signal = sum(float((a.double() ** 2).sum()) for a in exact)
    noise = sum(float(((a.double() - b.double()) ** 2).sum()) for a, b in zip(exact, made, strict=True))
    return min(_ENOUGH, 10 * math.log10(signal / max(noise, 1e-30)))


def wrong(measurement: Measurement) -> str:
    """Why a measurement is not as it should be; empty if it is."""
    found = measurement.metrics
    if "error" in found:
        return str(found["error"])
    if found["outside"] or found["delegates"] != 1:
        return f"{found['delegates']} delegates; outside: {'; '.join(found['outside']) or 'nothing'}"
    if measurement.case["scheme"] == "fp32":
        off = found["error_of_largest"]
        return "" if off <= 1e-3 else f"off by {off:.1e} of the largest output"
    lost = found["eager_db"] - found["sqnr_db"]
    return "" if lost <= 1.5 else f"{lost:.1f} dB below the eager quantized graph"


if __name__ == "__main__":
    sys.exit(main())
