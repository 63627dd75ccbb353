"""Running external tools: argument lists, a timeout, no shell, and errors with a remedy."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import process_groups
from .errors import ToolError
from .install_advice import from_index


def find_tool(executable: str, *, package: str) -> str:
    """Path of an executable that a pip package installs: where pip puts this Python's first, then on PATH.

    Raises:
        ToolError: it is in neither place; the message names the command that installs it.
    """
    # A virtual environment that was not activated is not on PATH, but its scripts lie beside its Python; those of
    # Windows' Python outside a virtual environment lie in a folder beside it.
    python = Path(sys.executable).parent
    path = shutil.which(executable, path=f"{python}{os.pathsep}{python / 'Scripts'}") or shutil.which(executable)
    if path is None:
        raise ToolError(executable, "is not installed", fix=f"install it with: {from_index(package)}")
    return path


def run_tool(
    tool: str,
    command: Sequence[str],
    *,
    timeout: float | None,
    kept: str | None = None,
    fix: str = "",
    cwd: str | os.PathLike[str] | None = None,
) -> str:
    """Runs ``command`` and returns its standard output and standard error together.

    Args:
        tool: its name in errors.
        command: argument list; the first word is the executable.
        timeout: seconds; after that the tool and every process it started are killed. None: never.
        kept: where its input stays, for the error.
        fix: the remedy for the error.

    Raises:
        ToolError: it cannot be started, ended with a status other than 0, or ran past ``timeout``.
    """
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            **process_groups.OPTIONS,  # so that a hanging tool's children die with it
        )
    except OSError as error:
        problem = f"could not be started: {error.strerror}"
        raise ToolError(tool, problem, command=command, kept=kept, fix=fix) from error
    try:
        output = process.communicate(timeout=timeout)[0].decode(errors="replace")
    except BaseException as error:
        process_groups.kill(process)
        output = process.communicate()[0].decode(errors="replace")
        if isinstance(error, subprocess.TimeoutExpired):
            problem = f"did not finish within {timeout or 0:g} s and was killed"
            raise ToolError(tool, problem, command=command, output=output, kept=kept, fix=fix, passing=True) from None
        raise
    if process.returncode != 0:
        how = how_it_ended(process.returncode)
        raise ToolError(
            tool, how, command=command, output=without_usage(output), kept=kept, fix=fix, passing=process.returncode < 0
        )
    return output


def how_it_ended(status: int) -> str:
    """The clause for an exit status that is not 0; of a process that a signal ended it is minus the signal."""
    return f"was killed by signal {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"


def without_usage(output: str) -> str:
    """The output without the usage of a tool that refuses its arguments: ``argparse`` prints every option."""
    lines = output.splitlines()
    errors = [number for number, line in enumerate(lines) if re.match(r"\S+: error: ", line)]
    return "\n".join(lines[errors[-1] :]) if output.startswith("usage: ") and errors else output
