"""Intermediate artifacts: one folder of files per delegate, never overwritten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..plugin.target import Target
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError
from ..tosa.graph import Graph


def artifact_folder(path: str, tosa: bytes, target: Target) -> Path:
    """Makes a new folder ``delegate_N`` under ``path`` and leaves the TOSA flatbuffer in it.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    number = 0
    while True:
        folder = Path(path) / f"delegate_{number}"
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            number += 1
        except OSError as why:
            raise UsageError(f"cannot write intermediate artifacts to {path}: {why.strerror}") from why
    write_atomic(folder / f"{target.name}.tosa", tosa)
    return folder


def write_debug_info(folder: Path, graph: Graph) -> None:
    """``debug.json``: each TOSA operator with the ATen node and the source line it comes from."""
    rows: list[dict[str, Any]] = []
    for i, op in enumerate(graph.ops):
        where = op.origin
        rows.append(
            {
                "index": i,
                "tosa": op.name,
                "outputs": [{"shape": list(t.shape), "dtype": str(t.dtype)} for t in op.outputs],
                "node": where.node if where else None,
                "aten": where.target if where else None,
                "source": where.source if where else None,
            }
        )
    write_atomic(folder / "debug.json", json.dumps(rows, indent=1))
