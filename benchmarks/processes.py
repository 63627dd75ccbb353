"""Cases of a benchmark, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.results import ROOT


def environment() -> dict[str, str]:
    """One thread, no network, and this environment's tools."""
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # Vela, the model converter
    return {**os.environ, **quiet, "PATH": path}


def run_case(module: str, *arguments: str) -> dict[str, Any]:
    """Runs ``python -m benchmarks.MODULE ARGUMENTS RESULT`` and returns the figures in RESULT, with ``wall_s``.

    A case that died has the figure ``error``; what it had written before is there.
    """
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="bench_") as folder:
        result = Path(folder, "result.json")
        command = [sys.executable, "-m", f"benchmarks.{module}", *arguments, str(result)]
        with Path(folder, "stderr").open("w+") as errors:
            done = subprocess.run(command, stdout=errors, stderr=errors, env=environment(), cwd=ROOT, check=False)
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [""])[-1]
        metrics = json.loads(result.read_text()) if result.exists() else {}
    if done.returncode and "error" not in metrics:
        metrics["error"] = f"exit status {done.returncode}: {last}"[:300]
    return {**metrics, "wall_s": round(time.time() - start, 1)}
