"""``arm-tosa view``: Model Explorer on a file, in the browser."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..exir.model_explorer import COSTS, graph_file
from ..support.atomic_files import write_atomic
from ..support.errors import ToolError, UsageError
from ..support.external_tools import find_tool, how_it_ended, run_tool
from ..support.install_advice import from_index
from .files import read, read_tosa
from .report import Result, say

#: What Model Explorer reads with an adapter of Arm's: modules, and the package of each.
_ADAPTERS = {
    ".vgf": ("vgf_adapter_model_explorer", "vgf-adapter-model-explorer"),
    ".pte": ("pte_adapter_model_explorer", "pte-adapter-model-explorer"),
}
_PACKAGE = "ai-edge-model-explorer"
_ALL = " ".join((_PACKAGE, *(package for _, package in _ADAPTERS.values())))
#: Its requirements exclude some of ours.
_INSTALL = f"""python3 -m venv explorer
explorer/bin/python -m pip install {_ALL}
export PATH="$PATH:$PWD/explorer/bin\""""
#: Seconds that Python may take to load an adapter.
_PATIENCE = 60


def view(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .tosa, .vgf or .pte file.")],
    port: Annotated[int, typer.Option(min=1, help="Port of the server; if it is taken, the next free one.")] = 8080,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
) -> Result:
    """Show a file as a graph in Model Explorer, until Ctrl-C.

    A .tosa is grouped by the modules of the model. If `compile --artifacts` left the costs of its layers beside it,
    these are shown, too.
    """
    if file.suffix != ".tosa" and file.suffix not in _ADAPTERS:
        raise UsageError(
            f"{file}: the suffix must be .tosa, {' or '.join(_ADAPTERS)}. Compile a model first: `arm-tosa compile "
            "--artifacts FOLDER` writes its .tosa"
        )
    content = read_tosa(file) if file.suffix == ".tosa" else read(file)
    try:
        explorer = find_tool("model-explorer", package=_PACKAGE)
    except ToolError as error:
        raise UsageError(
            f"Model Explorer is not installed. It lives in an environment of its own: {_INSTALL}"
        ) from error
    command = [explorer, f"--port={port}", *([] if browser else ["--no_open_in_browser"])]
    with tempfile.TemporaryDirectory(prefix="arm-tosa-") as folder:
        if file.suffix == ".tosa":
            drawn = Path(folder, f"{file.stem}.json")
            write_atomic(drawn, json.dumps(graph_file(content, file.name)))
            costs = [str(path) for cost in COSTS if (path := cost_file(file, cost)).is_file()]
            command += [str(drawn), *([f"--node_data_paths={','.join(costs)}"] if costs else [])]
        else:
            module, package = _ADAPTERS[file.suffix]
            _require(explorer, module, package, file)
            command += [str(file), f"--extensions={module}"]
        say("note: Ctrl-C ends it")
        try:
            status = subprocess.run(command, check=False).returncode
        except KeyboardInterrupt:
            status = 0
    if status:
        raise ToolError("model-explorer", how_it_ended(status), command=command)
    return Result({"file": str(file)}, lambda _: None)


def cost_file(tosa: Path, cost: str) -> Path:
    """Where ``--artifacts`` leaves what layers cost."""
    return tosa.with_name(f"{tosa.stem}.{cost}.json")


def _require(explorer: str, module: str, package: str, file: Path) -> None:
    """Finds out whether the Python of Model Explorer, which may be another one, has an adapter.

    Raises:
        UsageError: it has not.
    """
    beside = Path(explorer).resolve().with_name("python")
    python = str(beside) if beside.exists() else sys.executable
    try:
        run_tool("model-explorer", [python, "-c", f"import {module}"], timeout=_PATIENCE)
    except ToolError as error:
        raise UsageError(
            f"for {file.suffix} files Model Explorer needs {package}: {python} -m {from_index(package)}"
        ) from error
