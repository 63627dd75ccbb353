"""The command line: see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks import vgf
from benchmarks.results import add_results_option, progress, record
from benchmarks.vgf.measure import measured
from benchmarks.vgf.sides import SIDES


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vgf", description=vgf.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", help="NETWORK or NETWORK:TYPE (int8, int16, fp32, fp16); default: all")
    parser.add_argument("--prepare", type=Path, metavar="DIR", help="write what is measured, and measure nothing")
    parser.add_argument("--measure", type=Path, metavar="DIR", help="measure what was prepared")
    parser.add_argument("--sides", type=_sides, default=_installed(), help=f"default here: {','.join(_installed())}")
    parser.add_argument("--repeat", type=int, default=40, help="runs of each side in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iree-target", default="ampere", help="what IREE compiles for: --iree-vulkan-target")
    add_results_option(parser, "vgf")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.prepare or options.measure or Path(scratch)
        if options.measure is None:
            # Not above: PyTorch and the compilers are not where only --measure runs.
            from benchmarks.vgf.networks import cases
            from benchmarks.vgf.prepare import prepare

            prepare(folder, cases(options.networks), options.iree_target)
        if options.prepare is None:
            only = [word.partition(":")[0] for word in options.networks]
            found = measured(folder.resolve(), options.sides, options.repeat, options.rounds, only)
            for measurement in record(options.results, found):
                print(progress(measurement), flush=True)


def _installed() -> list[str]:
    """The sides that this machine has; our own compute engine always."""
    modules = {"layer": "emulation_layer", "ncnn": "ncnn", "iree": "iree"}
    return ["compute", *(side for side, module in modules.items() if find_spec(module) is not None)]


def _sides(words: str) -> list[str]:
    found = words.split(",")
    if unknown := [side for side in found if side not in SIDES]:
        sys.exit(f"--sides: {', '.join(unknown)} is none of {', '.join(SIDES)}")
    return found


if __name__ == "__main__":
    main()
