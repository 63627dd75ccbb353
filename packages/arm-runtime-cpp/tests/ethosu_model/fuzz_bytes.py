"""Builds ``fuzz_model.cpp`` with Clang's libFuzzer and sanitizers and runs it on what Vela makes of the test graphs.

Arguments: seconds to run (600). The first input that does more than fault ends it; libFuzzer says where it lies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import graphs
import numpy as np
import rows_u85
from streams import payload, program

from arm_ethosu.accelerators import ACCELERATORS

_PROJECT = Path(__file__).parents[2]
_BUILD = _PROJECT / "build" / "fuzz-model"
_SEEDED = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")
_LONGEST = 8192  # bytes of an input


def _build() -> Path:
    """The preset fuzz, without VGF and what that needs; returns the program."""
    for step in (
        ["--preset", "fuzz", "-B", str(_BUILD), "-DARM_RUNTIME_VGF=OFF", f"-DPython_EXECUTABLE={sys.executable}"],
        ["--build", str(_BUILD), "--parallel", str(os.cpu_count()), "--target", "fuzz_model"],
    ):
        subprocess.run(["cmake", *step], cwd=_PROJECT, check=True, timeout=900)
    return _BUILD / "tests" / "ethosu_model" / "fuzz_model"


def _write_seeds(folder: Path) -> None:
    """Each begins with the number of its accelerator, as the target takes it."""
    for accelerator in _SEEDED:
        rows = graphs.ROWS | (rows_u85.ROWS if ACCELERATORS[accelerator] == "u85" else {})
        for number, make in enumerate(rows.values()):
            commands = graphs.compile_graph(graphs.build(make), accelerator).arrays["cmd_data"].tobytes()
            seed = bytes([list(ACCELERATORS).index(accelerator)]) + commands
            if len(seed) <= _LONGEST:
                (folder / f"{accelerator}-{number}").write_bytes(seed)
    words = np.frombuffer(program("POOL", 2, {"ACC_FORMAT": 0x300}), "<u4")[5:-1]
    branch = payload([*words.tolist(), 256 | 1 << 14 | 1 << 16, 0, 0])
    (folder / "branch").write_bytes(bytes([list(ACCELERATORS).index("ethos-u85-256")]) + branch)


def main(seconds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="arm_runtime_fuzz_") as name:
        folder = Path(name)
        fuzzer = _build()
        (folder / "seeds").mkdir()
        _write_seeds(folder / "seeds")
        limits = [f"-max_total_time={seconds}", f"-max_len={_LONGEST}", "-timeout=20", "-artifact_prefix=./"]
        subprocess.run([str(fuzzer), *limits, str(folder / "seeds")], check=True, timeout=seconds + 300)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
