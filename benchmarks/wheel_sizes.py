"""Bytes of the built wheels, and of what they install.

nox -s wheels && python -m benchmarks.wheel_sizes
python -m benchmarks.wheel_sizes FOLDER
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

from benchmarks.results import ROOT, Measurement, Run, add_results_option, run_and_record

FOLDER = ROOT / "build" / "dist"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="of wheels (default: build/dist)")
    add_results_option(parser, "wheel_sizes")
    options = parser.parse_args()
    wheels = sorted(options.folder.glob("*.whl"))
    if not wheels:
        parser.error(f"no wheel in {options.folder}: run nox -s wheels")
    return run_and_record(options.results, measured(wheels), lambda measurement: "")


def measured(wheels: list[Path]) -> Iterator[Measurement]:
    """A row for each wheel, of the commit that its version names."""
    run = Run.here("wheel_sizes", command="python -m benchmarks.wheel_sizes")
    for wheel in wheels:
        name, version, *_, tag = wheel.stem.split("-")
        with ZipFile(wheel) as archive:
            installed = sum(entry.file_size for entry in archive.infolist())
        case = {"package": name.replace("_", "-"), "platform": "any" if tag == "any" else platform.machine()}
        row = run.measured(case, "ours", {"bytes": wheel.stat().st_size, "installed_bytes": installed})
        commit = re.search(r"\+g([0-9a-f]{7,})", version)
        yield replace(row, commit=commit[1]) if commit else row


if __name__ == "__main__":
    sys.exit(main())
