"""What git says has changed since a commit, for sessions and tests that leave out what has not."""

from __future__ import annotations

import posixpath
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNTIME = "packages/arm-runtime-cpp"
#: Files and folders that decide how clang-tidy reads all files.
_RULES = (*(f"{RUNTIME}/{name}" for name in (".clang-tidy", "CMakePresets.json", "cmake/")), "constraints.txt")


def changed_since(commit: str, root: Path = ROOT) -> set[str] | None:
    """The files that differ from a commit, those without a commit too; None: git does not know it."""
    try:
        found = [
            subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
            for words in (
                ("diff", "--name-only", "--no-renames", commit, "--"),
                ("ls-files", "--others", "--exclude-standard"),
            )
        ]
    except (OSError, subprocess.SubprocessError):
        return None
    return {line for output in found for line in output.splitlines()}


def cpp_to_read(changed: set[str], root: Path = ROOT) -> list[str] | None:
    """The C++ sources that clang-tidy has to read where files have changed; None: all.

    They are those that changed, and those that include one that did, directly or through others.

    Args:
        changed: files, from the root.
        root: of the repository.
    """
    if any(file.startswith(_RULES) or file.endswith("CMakeLists.txt") for file in changed):
        return None
    files = [file for folder in ("include", "src") for file in (root / RUNTIME / folder).rglob("*")]
    cpp = {str(file.relative_to(root)) for file in files if file.suffix in {".cpp", ".hpp", ".h"}}
    includes = {file: _included(file, re.findall(r'#include "(.+)"', (root / file).read_text()), cpp) for file in cpp}
    found = changed & cpp
    while more := {file for file, wanted in includes.items() if file not in found and wanted & (found | changed)}:
        found |= more
    return sorted(file for file in found if file.endswith(".cpp"))


def _included(file: str, names: list[str], files: set[str]) -> set[str]:
    """The files that ``#include`` lines of a file name: in its folder, or else wherever a path ends so."""
    found = set()
    for name in names:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
        found |= {beside} if beside in files else {other for other in files if other.endswith(f"/{name}")}
    return found
