"""What examples of firmware share: deploy a program, build it with a program in C around it, run that in QEMU."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

BOARD = "mps3-an547"
TOOLS = ("qemu-system-arm", "arm-none-eabi-g++", "cmake")


def missing() -> list[str]:
    """The tools that this machine lacks."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def deploy(pte: Path, name: str, program: Path, folder: Path) -> dict[str, int]:
    """Makes firmware of a ``.pte`` with a program of ours in the place of ``app/main.c``; returns bytes by part."""
    said = command("arm-tosa", "deploy", pte, "--name", name, "--board", BOARD, "-o", folder, "--json")
    shutil.copy(program, folder / "app" / "main.c")  # deploying again would leave it as it is
    return {row["part"]: row["bytes"] for row in json.loads(said)["memory"]}


def build(folder: Path, build: str = "build", npu: str = "functional_model") -> Path:
    """The ELF."""
    command("cmake", "--preset", "board", "-B", build, f"-DNPU={npu}", cwd=folder)
    command("cmake", "--build", build, "--parallel", cwd=folder)
    return folder / build / "firmware.elf"


def emulate(elf: Path, files: Path) -> str:
    """What the firmware prints; through semihosting it reads and writes files of the folder ``files``."""
    machine = ("-M", BOARD, "-nographic", "-monitor", "none", "-serial", "none")
    semihosting = ("-semihosting-config", "enable=on,target=native")
    return command("qemu-system-arm", *machine, *semihosting, "-kernel", elf.resolve(), cwd=files)


def size(elf: Path) -> int:
    """Bytes of code and constants."""
    text, data = command("arm-none-eabi-size", elf).splitlines()[1].split()[:2]
    return int(text) + int(data)


def command(*words: object, cwd: Path | None = None) -> str:
    """What a command prints, both ways; it ends this program if it fails."""
    run = list(map(str, words))
    done = subprocess.run(run, cwd=cwd, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(run)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout or done.stderr
