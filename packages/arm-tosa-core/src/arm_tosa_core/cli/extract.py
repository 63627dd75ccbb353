"""``arm-tosa extract``: the delegates' payloads out of a ``.pte``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..exir.pte import Delegate
from ..plugin import entry_points as plugins
from ..plugin.target import Target
from ..support.atomic_files import write_atomic
from ..support.errors import UsageError
from .files import read_program
from .options import DataFiles
from .report import Result, table


def extract(
    program: Annotated[Path, typer.Argument(metavar="FILE.pte", help="A compiled program.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder; made if it is missing.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
    data: DataFiles = None,
) -> Result:
    """Write each delegate's payload to a file in its own format: .tosa, or what its target makes, such as .vgf."""
    delegates = read_program(program, data).delegates
    if not delegates:
        raise UsageError(f"{program} has no delegate: all of it runs on the CPU")
    by_backend = {target.compiler.backend_id: target for target in plugins.targets().values()}
    files = {}
    for delegate in delegates:
        suffix, contents = _file(delegate, by_backend.get(delegate.backend_id))
        files[output / f"{program.stem}_{delegate.method}_{delegate.index}{suffix}"] = (delegate, contents)
    existing = [path for path in files if path.exists()]
    if existing and not force:
        raise UsageError(f"{existing[0]} exists; give another folder or --force")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {output}: {error.strerror}") from error
    for path, (_, contents) in files.items():
        write_atomic(path, contents)
    rows = [
        {"file": str(path), "backend_id": delegate.backend_id, "method": delegate.method, "bytes": len(contents)}
        for path, (delegate, contents) in files.items()
    ]

    def show(console: Console) -> None:
        cells = [[str(value) for value in row.values()] for row in rows]
        console.print(table("", ("file", "backend", "method", "bytes"), cells))

    return Result(rows, show)


def _file(delegate: Delegate, target: Target | None) -> tuple[str, bytes]:
    if target is None:
        return ".bin", delegate.payload  # a backend that no installed target speaks for
    if target.report.extract is None:
        return target.compiler.suffix, delegate.payload
    try:
        return target.report.extract(delegate.payload)
    except UsageError as error:
        raise UsageError(f"delegate {delegate.index} of {delegate.method!r}: {error}") from None
