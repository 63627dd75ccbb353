"""One case of ``flow.py`` in a process of its own.

Usage: python -m benchmarks.flow_case SIDE NETWORK TARGET STEP CPU_LIMIT PROGRAM RESULT. STEP ``prepare`` quantizes the
network and writes the exported program to PROGRAM; ``lower`` reads it and takes it to the bytes of a ``.pte``. They are
two processes so that the peak of memory is the lowering's own. SIDE is ``ours`` (the fast flow), ``ordinary``
(ExecuTorch's flow with this project's partitioner) or ``rival``.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import executorch.exir
import executorch.kernels.quantized  # to_executorch needs its operators
import torch
import torch.ao.quantization.fx._decomposed  # the operators of quantized programs
from executorch.exir._serialize._program import deserialize_pte_binary

from benchmarks.probes import OutOfTime, Stopwatch, cpu_seconds, limit, recorded
from benchmarks.sides import SIDES, Side, quantize


def main(side: str, name: str, target: str, step: str, cpu_limit: str, program: str, result_path: str) -> None:
    """Runs the case and writes its figures; an exception becomes the figure ``error``."""
    torch.set_num_threads(1)
    result: dict[str, Any] = {}
    own = SIDES["rival" if side == "rival" else "ours"]()
    with recorded(result, result_path):
        if step == "prepare":
            _prepare(own, name, target, program)
        else:
            result |= _lower(own, side == "ours", target, int(cpu_limit), program)


def _prepare(side: Side, name: str, target: str, path: str) -> None:
    from benchmarks.registry import network  # late: transformers is not needed to lower, and counts as memory

    module, inputs = network(name)
    program = torch.export.export(module, inputs(0))
    quantized = quantize(side, program, side.quantizer(target, side.compile_spec(target)), inputs)
    torch.export.save(torch.export.export(quantized, inputs(0)), path)


def _lower(side: Side, fast: bool, target: str, cpu_limit: int, path: str) -> dict[str, Any]:
    spec = side.compile_spec(target)
    run = _fast(spec) if fast else _ordinary(side.partitioner(target, spec))
    tools = Stopwatch()
    for owner, name in side.stopwatch_exclusions():
        tools.watch(owner, name)
    program = torch.export.load(path)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _memory("VmRSS")
    start = cpu_seconds(children=False)  # Vela is a child of ours, and is left out on both sides
    try:
        with limit(cpu_limit):
            buffer = run(program)
    except OutOfTime:
        return {"over": {"lower_s": cpu_limit}, "error": f"stopped after {cpu_limit} CPU s"}
    figures: dict[str, Any] = {
        "lower_s": cpu_seconds(children=False) - start - tools.seconds,
        "peak_mib": _memory("VmHWM"),
        "before_mib": before,
        "pte_bytes": len(buffer),
        "delegates": len(deserialize_pte_binary(buffer).program.execution_plan[0].delegates),
    }
    return {**figures, "warm_s": _warm(program, spec)} if fast else figures


def _fast(spec: Any) -> Callable[[Any], bytes]:
    import arm_tosa_core.flow.edge  # imports are not part of the figure, on any side

    return lambda program: arm_tosa_core.lower(program, spec).buffer


def _ordinary(partitioner: Any) -> Callable[[Any], bytes]:
    config = executorch.exir.EdgeCompileConfig(_check_ir_validity=False)

    def run(program: Any) -> bytes:
        edge = executorch.exir.to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=config)
        return bytes(edge.to_executorch().buffer)

    return run


def _warm(program: Any, spec: Any) -> float:
    """CPU seconds where the cache has the result."""
    import arm_tosa_core

    with tempfile.TemporaryDirectory(prefix="bench_cache_") as folder:
        os.environ["ARM_TOSA_CACHE_DIR"] = folder
        arm_tosa_core.lower(program, spec, cache=True)
        start = cpu_seconds(children=True)
        assert arm_tosa_core.lower(program, spec, cache=True).cached
        return cpu_seconds(children=True) - start


def _memory(field: str) -> float:
    """A figure of /proc/self/status in MiB: resident now (VmRSS) or at most so far (VmHWM)."""
    (kib,) = re.findall(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kib) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
