"""The AArch64 wheel of the runtime on this machine, under qemu-user: ``python release/try_on_aarch64.py WHEEL``.

Run by ``nox -s release`` with the Python of an environment that has all packages. The wheel and ExecuTorch's are
unpacked into one folder, as pip would, and the AArch64 ``arm_runner`` must give bit for bit what this machine's does.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1].resolve()
MODEL = """
import torch

def make():
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 5))
    return torch.nn.Sequential(*layers).eval(), (torch.randn(1, 3, 8, 8),)
"""
#: Where Debian's cross compiler has the C and C++ libraries.
SYSROOT = "/usr/aarch64-linux-gnu"


def run(*command: str, cwd: Path) -> None:
    """Runs a command; ends the program if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def main(wheel: Path, folder: Path) -> None:
    """Everything, in an empty folder."""
    here, site = Path(sys.executable).parent, folder / "site"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
    constraints = ("--constraint", str(ROOT / "constraints.txt"))
    run(*pip, "--platform=manylinux_2_28_aarch64", *constraints, "--dest", "wheels", "executorch", cwd=folder)
    for file in (wheel, *(folder / "wheels").glob("*.whl")):
        zipfile.ZipFile(file).extractall(site)
    program = site / "arm_runtime" / "bin" / "arm_runner"
    program.chmod(0o755)

    (folder / "net.py").write_text(MODEL)
    np.save(folder / "x.npy", np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32))
    compiler = (str(here / "arm-tosa"), "compile", "net.py:make", "--target", "ethos-u55-128", "--quantize", "int8")
    run(*compiler, "-o", "net.pte", cwd=folder)
    inputs = ("--model", "net.pte", "--input", "x.npy")
    run(str(here / "arm_runner"), *inputs, "--output", "here.npy", cwd=folder)
    run("qemu-aarch64", "-L", SYSROOT, str(program), *inputs, "--output", "there.npy", cwd=folder)
    wanted, found = np.load(folder / "here.npy"), np.load(folder / "there.npy")
    if not np.array_equal(wanted, found):
        raise SystemExit(f"AArch64 gives {found}, this machine {wanted}")
    print(f"ok: {wheel.name} gives under qemu-aarch64 what this machine does: {found}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="arm_aarch64_") as temporary:
        main(Path(sys.argv[1]).resolve(), Path(temporary))
