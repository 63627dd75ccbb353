"""Imports every module of the ahead-of-time packages as on another system, and compiles a ``.tosa`` for Ethos-U there.

``python on_another_system.py SYSTEM``, in an empty folder. Modules and functions that the system lacks are taken away,
and ``sys.platform`` is its name. Other packages have been imported before: their wheels for this system look at both.
Prints the number of modules.
"""

from __future__ import annotations

import ast
import importlib
import multiprocessing.connection
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, cast

PACKAGES = ("arm_tosa_core", "arm_cortex_m", "arm_ethosu", "arm_vgf")
#: Scripts for Linux, which nothing imports.
LINUX_ALONE = frozenset({"arm_ethosu.vela_worker"})
#: What a system lacks: modules, and names of modules that it has (docs.python.org, "Availability").
MODULES = {
    "win32": ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"),
    "darwin": (),
}
NAMES: dict[str, dict[ModuleType, tuple[str, ...]]] = {
    "win32": {
        os: (
            *("fork", "forkpty", "getpgid", "getpgrp", "getsid", "getuid", "geteuid", "killpg", "mkfifo", "nice"),
            *("sched_getaffinity", "setpgid", "setsid", "sysconf", "uname", "wait", "EX_TEMPFAIL"),
        ),
        signal: ("SIGALRM", "SIGKILL", "SIGHUP", "SIGPIPE", "alarm", "setitimer", "ITIMER_REAL", "pthread_sigmask"),
        select: ("poll", "epoll"),
    },
    "darwin": {
        os: ("sched_getaffinity", "memfd_create", "pidfd_open", "eventfd"),
        select: ("epoll",),
    },
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the packages, with its file."""
    for package in PACKAGES:
        (root,) = importlib.import_module(package).__path__
        for file in sorted(Path(root).rglob("*.py")):
            parts = file.relative_to(root).with_suffix("").parts
            if all(map(str.isidentifier, parts)) and parts[-1] != "__main__":
                yield ".".join((package, *(part for part in parts if part != "__init__"))), file


def others(file: Path) -> Iterator[str]:
    """What a module imports from other packages, anywhere."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def compile_pool() -> None:
    """Compiles a maximum of 2x2 for Ethos-U55 by the command, which starts Vela."""
    from arm_tosa_core.cli.main import main as arm_tosa
    from arm_tosa_core.tosa.graph import Graph
    from arm_tosa_core.tosa.ir import DType
    from arm_tosa_core.tosa.serializer import serialize
    from arm_tosa_core.tosa.specification import TosaSpecification

    graph = Graph()
    image = graph.input("image", [1, 4, 4, 3], DType.INT8)
    pool = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0)}
    graph.outputs.append(graph.append("MAX_POOL2D", [image], pool).output)
    Path("pool.tosa").write_bytes(serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+INT")))
    words = "compile pool.tosa --target ethos-u55-128 -o pool.vela --artifacts kept --json"
    sys.argv[1:] = words.split()
    with suppress(SystemExit):
        arm_tosa()
    assert Path("pool.vela").read_bytes()[:16] == b"vela_bin_stream\0"


def main(system: str) -> None:
    found = dict(modules())
    for name in sorted({name for file in found.values() for name in others(file)}):
        if name.partition(".")[0] not in (*PACKAGES, *MODULES[system]):
            with suppress(ImportError):  # an attribute, or a package that is not there
                importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    for name in MODULES[system]:
        cast(dict[str, Any], sys.modules)[name] = None
    for module, names in NAMES[system].items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    if system == "win32":
        vars(multiprocessing.connection)["PipeConnection"] = multiprocessing.connection.Connection
        os.environ["PATHEXT"] = "a"  # ends of executables' names for shutil.which: vela is one here as it is
    sys.platform = system
    wanted = sorted(set(found) - LINUX_ALONE)
    for name in wanted:
        importlib.import_module(name)
    compile_pool()
    print(len(wanted))


if __name__ == "__main__":
    main(sys.argv[1])
