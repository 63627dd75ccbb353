"""The sources of models, of their interface to the NPU, and of arithmetic: the same in every format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from arm_tosa_core.support.errors import UsageError

from ...kernels import FILES
from ..c_text import names, text
from ..library import library
from ..model import Model
from ..npu import Npu


def sources(models: Sequence[Model], npu: Npu | None) -> dict[str, str]:
    """By path, in the folders ``models``, ``common`` and, if a model needs it, ``npu`` and ``processor``.

    Raises:
        UsageError: the names of two models are too much alike.
    """
    out = {f"models/{name}": body for name, body in _libraries(models).items()}
    folders = ["common", *(["processor"] if any(model.operators for model in models) else [])]
    out |= {f"{folder}/{name}": text(f"{folder}/{name}") for folder in folders for name in names(folder)}
    for path in processor_files(models):
        out |= {f"processor/{name}": text(FILES / name) for name in _with_headers(Path(path).name)}
    return out | {f"npu/{name}": body for name, body in (npu.sources() if npu else {}).items()}


def model_files(model: Model) -> list[str]:
    """The C files of a model, by path."""
    return [f"models/{model.name}{suffix}.c" for suffix in ("", "_data")]


def processor_files(models: Sequence[Model]) -> list[str]:
    """The C files of functions that models call, by path."""
    called = {step.call.source for model in models for step in model.calls}
    return [f"processor/{name}" for name in sorted(set().union(*map(with_sources, called)))]


def with_sources(name: str) -> set[str]:
    """A C file of :mod:`arm_cortex_m.kernels`, and those whose functions it calls."""
    headers = (Path(header) for header in _with_headers(name))
    return {file for header in headers if (FILES / (file := f"{header.stem}.c")).exists()}


def _with_headers(name: str) -> set[str]:
    """A source of :mod:`arm_cortex_m.kernels`, and the files that it includes, directly or through others."""
    included = re.findall(r'#include "(.+)"', text(FILES / name))
    return {name}.union(*map(_with_headers, included))


def _libraries(models: Sequence[Model]) -> dict[str, str]:
    out: dict[str, str] = {}
    for model in models:
        files = library(model)
        if clash := sorted(files.keys() & out.keys()):
            raise UsageError(
                f"two models would both have a file models/{clash[0]}: in C their names are "
                f"{', '.join(each.name for each in models)}. Give each model another --name"
            )
        out |= files
    return out
