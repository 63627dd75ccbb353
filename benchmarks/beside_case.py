"""TOSA flatbuffers legalized and rated by the packages that are on the path: one checkout's side of ``beside.py``.

Usage: python FILE ORDERS RESULTS. ORDERS is a JSON list of pairs, a target and the files of one network's flatbuffers
as they were lowered. A line is appended to RESULTS for each, with what it takes. This file is run by itself, so that
all that it imports is of the checkout.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from arm_ethosu import EthosUCompileSpec, vela_batch
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize


def main(orders: str, results: str) -> None:
    for target, files in json.loads(Path(orders).read_text()):
        graphs = [Path(file).read_bytes() for file in files]
        with tempfile.TemporaryDirectory(prefix="bench_cache_") as cache:
            os.environ["ARM_TOSA_CACHE_DIR"] = cache
            metrics = _metrics(graphs, target)
        with Path(results).open("a") as file:
            file.write(json.dumps(metrics) + "\n")


def _metrics(graphs: list[bytes], accelerator: str) -> dict[str, Any]:
    """Cycles and SRAM as compiled by default, and CPU time where nothing is kept, and of legalizing where all is."""
    (legal, first), (again, kept) = (_timed(lambda: _legal(graphs, accelerator)) for _ in range(2))
    assert legal == again
    target = EthosUCompileSpec(accelerator).target()
    assert target.compiler.compile_in_detail is not None and target.report.estimate is not None
    compile = target.compiler.compile_in_detail
    compiled, vela = _timed(lambda: [compile(tosa, {}).figures for tosa in legal])
    return {
        "cycles": sum(target.report.estimate(tosa)["cycles"] for tosa in legal),
        "compiled_cycles": sum(figures["cycles"] for figures in compiled),
        "sram_kib": max(figures["tensors_kib"] for figures in compiled),
        "legalize_cpu_s": first,
        "legalize_kept_cpu_s": kept,
        "vela_cpu_s": vela,
    }


def _legal(graphs: list[bytes], accelerator: str) -> list[bytes]:
    target = EthosUCompileSpec(accelerator).target()
    return [serialize(legalize(load(tosa), target), target.tosa_spec) for tosa in graphs]


def _timed(work: Any) -> tuple[Any, float]:
    """What is done, and the CPU time of it, Vela's processes included."""
    vela_batch.close()
    began = _cpu()
    done = work()
    vela_batch.close()  # its time counts when it has ended
    return done, round(_cpu() - began, 2)


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main(*sys.argv[1:])
