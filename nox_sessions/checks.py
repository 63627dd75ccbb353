"""Sessions that read the sources: style, types, rooms, documentation."""

from __future__ import annotations

import re

import nox

import changes
import night

from .environments import CORE, CORTEX_M, ETHOSU, ROOT, RUNTIME, VGF, shared
from .system_packages import COMPILER, UNIT_TESTS, VULKAN, install

CPP_SUFFIXES = {".c", ".cc", ".cpp", ".h", ".hpp"}


@nox.session
def lint(session: nox.Session) -> None:
    """ruff and import-linter, clang-format, the schema of GitHub's workflows; then clang-tidy."""
    env = shared(session, runtime=False)
    session.run(str(env.bin / "lint-imports"), "--no-cache", env=env.env)
    # A cache would know nothing of a new module, which may change the order of imports in files that did not change.
    env.python("-m", "ruff", "check", "--no-cache", ".")
    env.python("-m", "ruff", "format", "--check", "--no-cache", ".")
    workflows = map(str, (ROOT / ".github" / "workflows").glob("*.yml"))
    session.run(str(env.bin / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *workflows)
    folders = [RUNTIME / name for name in ("include", "src", "tests")]  # not build/, which CMake fills
    if cpp := sorted(str(file) for folder in folders for file in folder.rglob("*") if file.suffix in CPP_SUFFIXES):
        session.run(str(env.bin / "clang-format"), "--dry-run", "--Werror", *cpp)
    session.notify("clang-tidy")


@nox.session(name="clang-tidy")
def clang_tidy(session: nox.Session) -> None:
    """clang-tidy on the C++ sources, with packages/arm-runtime-cpp/.clang-tidy; a part of lint.

    It reads those that changed, or include what did, since ``nightly`` had all read; ``-- --all``: all.
    """
    last = night.read().get("lint")
    changed = changes.changed_since(last["commit"]) if last and "--all" not in session.posargs else None
    sources = None if changed is None else changes.cpp_to_read(changed)
    if sources == []:
        session.log("no C++ has changed since clang-tidy read all of it")
        return
    install(session, COMPILER, VULKAN, UNIT_TESTS)  # the unit tests compile what only bare metal does otherwise
    env, build = shared(session, runtime=False), RUNTIME / "build" / "clang-tidy"
    configure = (
        *("--preset", "host", "-B", str(build), "-S", str(RUNTIME), f"-DPython_EXECUTABLE={env.bin / 'python'}"),
        # Clang reads no header that GCC compiled, and each file must include what it uses.
        *("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"),
    )
    with session.chdir(RUNTIME):
        for step in (configure, ("--build", str(build), "--target", "arm_vgf_kernels")):  # its headers
            session.run(str(env.bin / "cmake"), *step, env=env.env, silent=True)
        # From this folder: the script looks for .clang-tidy from where it is started.
        script = str(env.bin / "run-clang-tidy.py")
        wanted = [f"^{RUNTIME}/src/"] if sources is None else [f"^{re.escape(f'{ROOT}/{file}')}$" for file in sources]
        env.python(script, "-quiet", "-hide-progress", "-p", str(build), *wanted)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict on each package's sources, as on each system."""
    env = shared(session, runtime=False)
    sources = (CORE / "src", CORTEX_M / "src", ETHOSU / "src", VGF / "src", RUNTIME / "python")
    for system in ("linux", "darwin", "win32"):
        env.python("-m", "mypy", "--strict", "--platform", system, *map(str, sources))


@nox.session
def docs(session: nox.Session) -> None:
    """The site of docs/ built strictly into build/site; its links, commands and code are in tests/test_docs.py."""
    env = shared(session, runtime=False)
    # The theme advertises its successor at every build.
    env.python("-m", "mkdocs", "build", "--strict", "--quiet", NO_MKDOCS_2_WARNING="1")
