"""One file of ``tflite_files.py`` on one accelerator, by one side, in a process of its own.

Usage: python -m benchmarks.tflite_files_case SIDE FILE TARGET PYTHON RESULT. PYTHON, if given, has ``ai-edge-litert``;
it runs this file with ``reference`` for the side.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_CALLS = 3
_LIMIT = 600.0  # seconds


def main(side: str, path: str, target: str, python: str, result: str) -> None:
    try:
        found = _vela(Path(path), target) if side == "vela" else _ours(Path(path), target, python)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        found = {"error": f"{type(error).__name__}: {lines[-1]}"[:300]}
    Path(result).write_text(json.dumps(found))


def _vela(path: Path, target: str) -> dict[str, Any]:
    from benchmarks.ethosu_peers_case import _velas

    figures, printed = _velas(path.read_bytes(), ".tflite", target)
    left = re.search(r"CPU operators = (\d+)", printed)
    return {**figures, "left": int(left[1]) if left else 0}


def _ours(path: Path, target: str, python: str) -> dict[str, Any]:
    import torch

    from arm_ethosu import EthosUCompileSpec
    from arm_tosa_core import load_model
    from arm_tosa_core.lowering.exported_program import is_quantized
    from arm_tosa_core.testing.harness import Execution, left_outside
    from benchmarks.ethosu_peers_case import _by_velas_names, _summed

    torch.set_num_threads(1)
    program = load_model(path)
    if not is_quantized(program):
        return {"error": "float: to be quantized first"}
    device = EthosUCompileSpec(target).target()
    execution = Execution(program, device)
    assert device.report.estimate is not None
    figures = _summed([_by_velas_names(device.report.estimate(tosa)) for tosa in execution.flatbuffers])
    found = {**figures, "left": len(left_outside(execution.program, execution.analysis))}
    writes = any(node.target is torch.ops.aten.copy_.default for node in program.graph.nodes)
    if not python or writes:  # the harness runs each call anew
        return found
    with tempfile.TemporaryDirectory(prefix="bench_reference_") as folder:
        kept = str(Path(folder, "calls.npz"))
        subprocess.run([python, __file__, "reference", str(path), "", "", kept], check=True, timeout=_LIMIT)
        calls = dict(np.load(kept))
    steps, error = [], 0.0
    for call in range(_CALLS):
        inputs = [torch.from_numpy(calls[key]) for key in sorted(calls) if key.startswith(f"{call} input")]
        for place, ours in enumerate(execution.run(inputs)):
            wanted = calls[f"{call} output {place}"]
            if wanted.dtype.kind == "f":
                error = max(error, float(np.abs(ours.numpy() - wanted).max() / max(np.abs(wanted).max(), 1e-9)))
            else:
                steps.append(np.abs(ours.numpy().astype(int) - wanted).max())
    return {**found, **({"steps": int(max(steps))} if steps else {"error_of_outputs": round(error, 5)})}


def reference(path: str, result: str) -> None:
    """Calls of the file by LiteRT's reference kernels, with random inputs: an array for each input and output."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    random, calls = np.random.default_rng(0), {}
    for call in range(_CALLS):
        for place, one in enumerate(interpreter.get_input_details()):
            if np.issubdtype(one["dtype"], np.integer):
                ends = np.iinfo(one["dtype"])
                value = random.integers(ends.min, ends.max + 1, one["shape"]).astype(one["dtype"])
            else:
                value = random.uniform(-1, 1, one["shape"]).astype(one["dtype"])
            calls[f"{call} input {place}"] = value
            interpreter.set_tensor(one["index"], value)
        interpreter.invoke()
        for place, one in enumerate(interpreter.get_output_details()):
            calls[f"{call} output {place}"] = interpreter.get_tensor(one["index"])
    np.savez(result, **calls)


if __name__ == "__main__":
    if sys.argv[1] == "reference":
        reference(sys.argv[2], sys.argv[5])
    else:
        main(*sys.argv[1:])
