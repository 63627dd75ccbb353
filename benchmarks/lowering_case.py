"""One case of ``lowering.py`` in a process of its own: quantize and lower one network for one target with one side.

Usage: python -m benchmarks.lowering_case SIDE NETWORK REGISTRY TARGET CPU_LIMIT RESULT. RESULT is a JSON file of
figures, rewritten after every step, so that a case that dies leaves what it knew. The limit, in seconds, is on the
lowering alone.
"""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.probes import OutOfTime, Stopwatch, cpu_seconds, limit, tosa_operators, vela
from benchmarks.registry import network
from benchmarks.sides import ETHOS_U, SIDES, Side, quantize

_TEST_SEEDS = range(100, 108)


def main(side: str, name: str, registry: str, target: str, cpu_limit: str, result_path: str) -> None:
    """Runs the case and writes its figures; an exception becomes the figure ``error``."""
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    result: dict[str, Any] = {"load": os.getloadavg()[0]}
    try:
        for step in _steps(SIDES[side](), name, registry, target, int(cpu_limit)):
            result |= step
            result["peak_rss_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            Path(result_path).write_text(json.dumps(result))
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        result["error"] = f"{type(error).__name__}: {lines[0]}"[:300]
        Path(result_path).write_text(json.dumps(result))
        raise


def _steps(side: Side, name: str, registry: str, target: str, cpu_limit: int) -> Iterator[dict[str, Any]]:
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    module, inputs = network(name, registry)
    spec = side.compile_spec(target)
    program = torch.export.export(module, inputs(0))
    if target != "vgf-fp":
        start = cpu_seconds(children=True)
        quantized = quantize(side, program, side.quantizer(target, spec), inputs)
        yield {"quantize_s": cpu_seconds(children=True) - start}
        yield {"sqnr_db": _sqnr(module, quantized, inputs)}
        program = torch.export.export(quantized, inputs(0))

    with tempfile.TemporaryDirectory(prefix="bench_dump_") as dump:
        spec.dump_intermediate_artifacts_to(dump)
        partitioner = side.partitioner(target, spec)
        backend, foreign = Stopwatch(), Stopwatch()
        for owner, name in side.stopwatch_exclusions():
            foreign.watch(owner, name)
        for name in ("transform_for_pre_decomposition", "ops_to_not_decompose", "partition"):
            backend.watch(type(partitioner), name)
        backend.watch(side.backend(target), "preprocess_multimethod")
        start = cpu_seconds(children=True)
        try:
            with limit(cpu_limit):
                edge = to_edge_transform_and_lower(
                    program, partitioner=[partitioner], compile_config=EdgeCompileConfig(_check_ir_validity=False)
                )
        except OutOfTime:
            yield {
                "over": {"lower_s": cpu_limit, "backend_s": backend.seconds - foreign.seconds},
                "error": f"stopped after {cpu_limit} CPU s of lowering",
            }
            return
        yield {"lower_s": cpu_seconds(children=True) - start, "backend_s": backend.seconds - foreign.seconds}
        graphs = sorted({path.read_bytes() for path in Path(dump).rglob("*.tosa")})
    counts = tosa_operators(graphs)
    yield {
        "tosa_ops": counts.total() - counts["CONST"] - counts["CONST_SHAPE"],
        "transpose": counts["TRANSPOSE"],
        "rescale": counts["RESCALE"],
        "histogram": dict(counts),
    }
    yield left_outside(edge.exported_program().graph)
    if target in ETHOS_U:
        yield vela(graphs, target)
    yield {"pte_bytes": len(edge.to_executorch().buffer)}


def _sqnr(module: torch.nn.Module, quantized: torch.nn.Module, inputs: Any) -> float:
    """Signal over quantization noise of the eager quantized graph, in dB, on inputs it was not calibrated with."""
    signal = noise = 0.0
    with torch.no_grad():
        for seed in _TEST_SEEDS:
            exact, got = module(*inputs(seed)).double(), quantized(*inputs(seed)).double()
            signal += float((exact**2).sum())
            noise += float(((exact - got) ** 2).sum())
    return 10 * math.log10(signal / noise)


def left_outside(graph: torch.fx.Graph) -> dict[str, Any]:
    """Delegates, and the operators outside of them by name."""
    delegates, left = 0, Counter[str]()
    for node in graph.nodes:
        name = getattr(node.target, "__name__", str(node.target))
        if node.op != "call_function" or "getitem" in name or "quantize_per" in name:
            continue
        if "call_delegate" in name or "CallDelegate" in type(node.target).__name__:
            delegates += 1
        else:
            left[name] += 1
    return {"delegates": delegates, "left": left.total(), "left_names": dict(left)}


if __name__ == "__main__":
    main(*sys.argv[1:])
