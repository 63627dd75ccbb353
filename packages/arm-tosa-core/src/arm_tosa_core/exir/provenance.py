"""What a compilation depends on besides the program: the compile spec, and what is installed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from ..plugin import entry_points as plugins
from ..support.cache_folder import sources_of
from .compile_spec import ArmCompileSpec


def of_spec(compile_spec: ArmCompileSpec) -> Iterator[str]:
    """The spec, and the contents of files that it names."""
    options = {**compile_spec._options(), **compile_spec._depends_on()}
    text = json.dumps(options, sort_keys=True)
    yield f"{type(compile_spec)} {compile_spec.tosa_spec} {compile_spec.compiler_flags} {text}"
    for path in compile_spec._files():
        yield hashlib.sha256(path.read_bytes()).hexdigest()
    for word in map(str, [*compile_spec.compiler_flags, *options.values()]):
        # All of it, or what stands behind a "=", which a path may have as well. Longer words than paths are no error.
        for text in dict.fromkeys((word, word.partition("=")[2], word.rpartition("=")[2])):
            if os.path.isfile(file := os.path.expanduser(text)):
                yield hashlib.sha256(Path(file).read_bytes()).hexdigest()


def of_installation() -> Iterator[str]:
    """Every distribution with its version, and the sources of packages that bring targets or rules."""
    yield f"{platform.python_version()} {platform.machine()}"
    names = {name for folder in sys.path if os.path.isdir(folder) for name in os.listdir(folder)}
    yield from sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))
    for package in sorted({__name__.partition(".")[0], *plugins.packages()}):
        yield from sources_of(package)
