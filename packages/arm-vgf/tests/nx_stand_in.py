"""A script in the place of Arm's estimator for the neural accelerator: the program itself has a licence."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

from arm_vgf.nx_estimator import PROGRAM

VGF = b"VGF1" + bytes(4) + bytes((0, 5, 0)) + bytes(117) + b"sections"
SUMMARY = {"total_cycles": 7240, "inference_time": 0.004826666787266731, "dram_footprint": 66176}
MOVED = {"read_bytes": 2048, "write_bytes": 512}
FIGURES = {"cycles": 7240, "clock_hz": 1.5e9, "dram_kib": 66176 / 1024, "dram_read_kib": 2, "dram_written_kib": 0.5}
#: It counts its runs, and refuses what the real one dies of.
SCRIPT = """#!{python}
import json, os, pathlib, sys
with open({runs!r}, "a") as runs:
    print(*sys.argv[1:], file=runs)
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert pathlib.Path(arguments["-i"]).read_bytes()[8:11] == bytes((0, 4, 3))


def write(figures, moved={{"read_bytes": 0, "write_bytes": 0}}):
    named = lambda values: {{name: {{"value": value}} for name, value in values.items()}}
    dram = {{}} if moved is None else {{"dram": named(moved)}}
    text = json.dumps({{"network_performance": {{**named(figures), **dram}}}})
    pathlib.Path(arguments["-o"] + "_network_performance_summary.json").write_text(text)


{then}
"""
WRITES = "write(%r, %r)"


def installed(folder: Path, then: str = WRITES % (SUMMARY, MOVED)) -> Path:
    """A program that does something; its runs are lines of a file beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / PROGRAM
    program.write_text(SCRIPT.format(python=sys.executable, runs=str(folder / "runs"), then=then))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def runs(program: Path) -> list[str]:
    return (program.parent / "runs").read_text().splitlines()
