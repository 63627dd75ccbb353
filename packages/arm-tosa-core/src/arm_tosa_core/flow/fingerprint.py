"""A name for everything that a ``.pte`` depends on: the program, the compile spec, and what is installed."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from ..exir.compile_spec import ArmCompileSpec
from ..plugin import entry_points as plugins


def fingerprint(program: ExportedProgram, compile_spec: ArmCompileSpec) -> str | None:
    """A digest, in hexadecimal; None for programs with modules inside (control flow), which it cannot name."""
    digest = hashlib.sha256()
    for part in [*_installed(), *_spec(compile_spec), *_signature(program)]:
        digest.update(f"{part}\n".encode())
    for node in program.graph.nodes:
        if node.op == "get_attr":
            value = getattr(program.graph_module, str(node.target), None)
            if not isinstance(value, torch.Tensor):
                return None
            _add_tensor(digest, node.name, value)
        digest.update(f"{_described(node)}\n".encode())
    for name, value in sorted([*program.state_dict.items(), *program.constants.items()]):
        if not isinstance(value, torch.Tensor):
            return None
        _add_tensor(digest, name, value)
    return digest.hexdigest()


def _described(node: Node) -> str:
    meta = node.meta.get("val")
    metas = meta if isinstance(meta, (list, tuple)) else [meta]
    shapes = [(m.dtype, m.shape, m.stride()) if isinstance(m, torch.Tensor) else m for m in metas]
    return f"{node.op} {node.name} {node.target} {node.args} {node.kwargs} {shapes} {node.meta.get('stack_trace')}"


def _add_tensor(digest: Any, name: str, tensor: torch.Tensor) -> None:
    tensor = tensor.detach()
    digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {tensor.stride()}\n".encode())
    digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


def _signature(program: ExportedProgram) -> Iterator[str]:
    yield str(program.graph_signature)
    yield str(program.range_constraints)
    for entry in program.module_call_graph:
        yield f"{entry.fqn} {entry.signature}"


def _spec(compile_spec: ArmCompileSpec) -> Iterator[str]:
    """The spec, and the contents of files that it names."""
    options = json.dumps(compile_spec._options(), sort_keys=True)
    yield f"{type(compile_spec)} {compile_spec.tosa_spec} {compile_spec.compiler_flags} {options}"
    for word in [*compile_spec.compiler_flags, *compile_spec._options().values()]:
        path = Path(str(word).rpartition("=")[2])
        if path.is_file():
            yield hashlib.sha256(path.read_bytes()).hexdigest()


def _installed() -> Iterator[str]:
    """Every distribution with its version, and the sources of packages that bring targets or rules.

    An editable package changes without its version: sizes and times of files tell.
    """
    yield f"{platform.python_version()} {platform.machine()}"
    names = {name for folder in sys.path if os.path.isdir(folder) for name in os.listdir(folder)}
    yield from sorted(name for name in names if name.endswith((".dist-info", ".egg-info")))
    for package in sorted({__name__.partition(".")[0], *plugins.packages()}):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or [str(spec.origin)]) if spec else []:
            files = sorted(Path(root).rglob("*.py")) if os.path.isdir(root) else [Path(root)]
            yield from (f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
