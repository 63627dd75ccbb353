"""``arm-tosa`` in a fork of a process that has imported what its commands import: the pages have about a hundred of
them, and each would import PyTorch and ExecuTorch for eight seconds. ``test_readme.py`` starts real processes."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

# Neither starts a thread, which a fork would lose. Modules of this project are not in the list: a command finds those
# of its page, and says itself what it lacks.
_IMPORTED = [
    "torch.export",
    "torchao.quantization.pt2e",
    "executorch.exir",
    "executorch.runtime",
    "typer",
    "rich.table",
]


class Done(NamedTuple):
    """As of ``subprocess.run``."""

    returncode: int
    stdout: str
    stderr: str


def run(words: list[str], folder: Path, env: dict[str, str], seconds: float) -> Done:
    """Runs ``arm-tosa`` with arguments in a folder; ``PYTHONPATH`` of ``env`` leads to packages beside the installed.

    Raises:
        TimeoutError: it did not end in time; it is stopped.
    """
    with tempfile.TemporaryDirectory() as outputs:
        files = [Path(outputs, "stdout"), Path(outputs, "stderr")]
        process = _forks().Process(target=_child, args=(words, folder, env, files))
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.kill()
            raise TimeoutError(f"arm-tosa {' '.join(words)}: not ended after {seconds} s")
        assert process.exitcode is not None
        return Done(process.exitcode, *(file.read_text() if file.exists() else "" for file in files))


@functools.cache
def _forks() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context


def _child(words: list[str], folder: Path, env: dict[str, str], files: list[Path]) -> None:
    for stream, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv = ["arm-tosa", *words]
    from arm_tosa_core.cli.main import main

    main()
