"""One network by one side, with float and with integer edges, in a process of its own.

Usage: python -m benchmarks.nx.case SIDE NETWORK EDGES SYSTEM KEPT RESULT. EDGES are joined by commas. SYSTEM is a
description of the estimator's, or empty. In the folder KEPT, unless it is empty, graphs and VGFs stay. RESULT is a JSON
file, an object of figures by edges, rewritten after each.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from pathlib import Path

import torch

from arm_vgf.nx_estimator import ADVICE, NxEstimator, find_program
from benchmarks.nx.estimate import Metrics, estimate, on_shaders, summed, unrated
from benchmarks.nx.registry import NETWORKS
from benchmarks.nx.sides import SIDES, Delegate


def main(side: str, name: str, edges: str, system: str, kept: str, result: str) -> None:
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    found: dict[str, Metrics] = {}
    way = SIDES[side]()
    quantized = None
    for edge in edges.split(","):
        try:
            quantized = quantized or way.quantize(NETWORKS[name]())
            with tempfile.TemporaryDirectory(prefix="bench_nx_") as folder:
                start = time.process_time()
                delegates, left = way.lower(quantized, edge, Path(folder))
                seconds = time.process_time() - start
            if kept:
                _keep(Path(kept, f"{name}.{side}.{edge}"), delegates)
            found[edge] = {**figures(delegates, system), "left": left, "lower_s": round(seconds, 2)}
        except Exception as error:
            found[edge] = {"error": _reason(error)}
        Path(result).write_text(json.dumps(found))


def _reason(error: BaseException) -> str:
    """The first line of what an exception comes from: ExecuTorch wraps those of passes."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300]


def figures(delegates: list[Delegate], system: str) -> Metrics:
    """All that is measured of the delegates of a network.

    Raises:
        RuntimeError: there is none, or the estimator is not installed.
        ToolError: the estimator failed.
    """
    if not delegates:
        raise RuntimeError("nothing is delegated")
    program = find_program()
    if program is None:
        raise RuntimeError(f"the estimator is not installed: {ADVICE}")
    estimator = NxEstimator.of(program, system or None)
    each = []
    for delegate in delegates:
        rated, debug = estimate(estimator, delegate.vgf)
        each.append({**rated, **on_shaders(debug), **unrated(delegate.tosa)})
    return {**summed(each), "delegates": len(delegates)}


def _keep(folder: Path, delegates: list[Delegate]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, delegate in enumerate(delegates):
        (folder / f"{number}.tosa").write_bytes(delegate.tosa)
        (folder / f"{number}.vgf").write_bytes(delegate.vgf)


if __name__ == "__main__":
    main(*sys.argv[1:])
