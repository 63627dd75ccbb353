"""``arm-tosa targets``: what is installed, and who provides it."""

from __future__ import annotations

from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.target import Target
from .report import Result, say, table


def targets() -> Result:
    """List the installed targets, their TOSA specification and who provides them."""
    rows = plugins.providers()
    for row in rows:
        if not isinstance(row.target, Target):
            say(f"warning: {row.target}")

    def show(console: Console) -> None:
        cells = [
            (row.name, str(row.target.tosa_spec), row.target.description, f"{row.distribution} {row.version}")
            for row in rows
            if isinstance(row.target, Target)
        ]
        console.print(table("", ("target", "TOSA specification", "what it is", "from"), cells))

    return Result([_data(row) for row in rows], show)


def _data(row: plugins.Provider) -> dict[str, object]:
    common: dict[str, object] = {"name": row.name, "distribution": row.distribution, "version": row.version}
    if not isinstance(row.target, Target):
        return common | {"error": str(row.target)}
    return common | {
        "spec": str(row.target.tosa_spec),
        "description": row.target.description,
        "suffix": row.target.compiler.suffix,
        "backend_id": row.target.compiler.backend_id,
        "can_run": row.target.host.run is not None,
    }
