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


def environment() -> dict[str, str]:
    """One thread, no network, and this environment's tools."""
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # Vela, the model converter
    return {**os.environ, **quiet, "PATH": path}


def run_case(script: str, case: dict[str, str], *arguments: str) -> dict[str, Any]:
    """Runs ``python SCRIPT <values of case> <arguments> RESULT``, and returns what it wrote to RESULT, with ``wall_s``.

    A case that died has the field ``error``; what it had written before is there.
    """
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="bench_") as folder:
        result = Path(folder, "result.json")
        command = [sys.executable, str(Path(__file__).with_name(script)), *case.values(), *arguments, str(result)]
        with Path(folder, "stderr").open("w+") as errors:
            done = subprocess.run(command, stdout=errors, stderr=errors, env=environment())
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [""])[-1]
        row = json.loads(result.read_text()) if result.exists() else dict(case)
    if done.returncode and "error" not in row:
        row["error"] = f"exit status {done.returncode}: {last}"[:300]
    return {**row, "wall_s": time.time() - start}
