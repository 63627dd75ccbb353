"""Lowered programs that are made once: from the cache if they are there, and kept there if they may be."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from ..exir.compile_spec import ArmCompileSpec
from ..exir.provenance import of_installation, of_spec
from ..plugin import entry_points as plugins
from ..support import passing
from .cache import Entry, load, store
from .lowered_program import LoweredProgram


def kept(
    key: str, make: Callable[[], LoweredProgram], key_now: Callable[[], str | None] | None = None
) -> LoweredProgram:
    """What the cache has under this key, or what is made now; that is kept if it is the same at every time.

    It is not where nothing is delegated, where there are files beside it, a run of the target's compiler died, a rules
    plugin was left out, or a warning was given that a program from the cache would come without.

    Args:
        key_now: makes the key once more: what was read may be another file than the key is of. None: it cannot.
    """
    started, failures = time.perf_counter(), passing.failures()
    if (entry := load(key)) is not None:
        seconds = time.perf_counter() - started
        reports = {"forward": entry.report}
        return LoweredProgram(entry.buffer, reports, True, seconds, entry.integers, _inputs=entry.inputs)
    made = make()
    lasting = made.report.delegated and not made.data_files and passing.failures() == failures
    if lasting and not plugins.rules_left_out() and (key_now is None or key_now() == key):
        store(key, Entry(made.buffer, made.report, made.integers, made.inputs))
    return made


def file_fingerprint(path: Path, content: bytes, compile_spec: ArmCompileSpec, *options: object) -> str | None:
    """As ``fingerprint``, of a file that is all there is of a model: without reading it, and without PyTorch.

    The name of the file counts: reports have it in source lines. None for a spec whose results are not kept.
    """
    if compile_spec.rewrites or compile_spec.get_intermediate_path() is not None:
        return None
    parts = [*of_installation(), *of_spec(compile_spec), path.name, hashlib.sha256(content).hexdigest(), repr(options)]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogatepass")).hexdigest()
