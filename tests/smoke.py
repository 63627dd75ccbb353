"""The built packages as a user has them: compiles a tiny model for three targets and runs what came out.

VGF runs on the compute engine, or on the device itself: the emulation layer is not installed.

Run by ``nox -s wheels`` with the Python of an environment that has the wheels and nothing else of this repository, in
a folder of its own: ``python -I smoke.py SOURCES``. Fails if a package is imported from ``SOURCES``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

MODEL = '''"""A small CNN."""

import torch


def make():
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(4), torch.nn.Flatten())
    return torch.nn.Sequential(*layers, torch.nn.Linear(32, 5)).eval(), (torch.randn(1, 3, 8, 8),)
'''
#: Targets, what is quantized for them, and how far results may be from eager PyTorch's, in their range.
TARGETS = {"tosa-int": ("int8", None), "ethos-u55-128": ("int8", 0.1), "vgf": (None, 1e-4)}


def command(name: str, *arguments: str) -> str:
    """Runs a command that the packages install; returns what it printed.

    Raises:
        SystemExit: it failed.
    """
    line = [str(Path(sys.executable).with_name(name)), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(fine: bool, what: str) -> None:
    """Ends the program unless all is well."""
    if not fine:
        raise SystemExit(f"smoke test failed: {what}")
    print(f"ok: {what}", flush=True)


def close(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], share: float) -> bool:
    """Whether all results are near what they should be, in shares of their range."""
    return found.shape == wanted.shape and bool(np.abs(found - wanted).max() <= share * np.ptp(wanted))


def main(sources: Path) -> None:
    """Everything, in the current folder; ``sources`` is what the packages must not be imported from."""
    for name in ("arm_tosa_core", "arm_cortex_m", "arm_ethosu", "arm_vgf", "arm_runtime"):
        file = Path(str(importlib.import_module(name).__file__)).resolve()
        check(not file.is_relative_to(sources), f"{name} is {file}")

    findings = {row["what"]: row for row in json.loads(command("arm-tosa", "doctor", "--json"))}
    check(bool(findings), f"arm-tosa doctor tells of {', '.join(findings)}")
    wrong = {what: row for what, row in findings.items() if row["state"] != "ok"}
    check(not wrong, f"arm-tosa doctor misses nothing {wrong or ''}".rstrip())
    check(importlib.util.find_spec("emulation_layer") is None, "Arm's emulation layer is not installed")
    engine = findings["VGF engine"]["detail"].partition(" ")[0]
    check(engine in ("compute", "native"), f"VGF runs on the engine {engine}")
    installed = {row["name"] for row in json.loads(command("arm-tosa", "targets", "--json"))}
    check(installed >= TARGETS.keys(), f"{', '.join(TARGETS)} are among {len(installed)} installed targets")

    chips = {row["name"] for row in json.loads(command("arm-tosa", "chips", "--json"))}
    check(chips >= {"alif-e7-hp", "st-stm32h743"}, f"{len(chips)} chips are installed")

    Path("net.py").write_text(MODEL, encoding="utf-8")
    sys.path.insert(0, str(Path.cwd()))
    net, (x,) = importlib.import_module("net").make()
    wanted = net(x).detach().numpy()
    np.save("x.npy", x.numpy())
    for target, (scheme, share) in TARGETS.items():
        quantize = ("--quantize", scheme) if scheme else ()
        pte = f"{target}.pte"
        told = json.loads(command("arm-tosa", "compile", "net.py:make", "-t", target, *quantize, "-o", pte, "--json"))
        check(told["delegates"] == 1, f"{pte} has one delegate and {told['figures']['file_bytes']} bytes")
        if share is not None:
            command("arm-tosa", "run", pte, "--input", "x.npy", "--output", "y.npy")
            check(close(np.load("y.npy"), wanted, share), f"arm-tosa run {pte} gives what PyTorch does")

    command("arm-tosa", "extract", "vgf.pte", "-o", "payloads")
    (payload,) = Path("payloads").iterdir()
    plan = json.loads(command("arm-tosa", "explain", str(payload), "--engine", "compute", "--json"))["plan"]
    check(any("CONV2D" in step["operators"] for step in plan), f"the plan of {payload} has {len(plan)} steps")

    command("arm_runner", "--model", "ethos-u55-128.pte", "--input", "x.npy", "--output", "z.npy")
    check(close(np.load("z.npy"), wanted, 0.1), "arm_runner runs ethos-u55-128.pte")
    command("arm-tosa", "compile", "net.py:make", "-t", "tosa", "-o", "net.tosa")
    command("arm-tosa", "run", "net.tosa", "--input", "x.npy", "--output", "t.npy")
    check(close(np.load("t.npy"), wanted, 1e-4), "arm-tosa run net.tosa gives what PyTorch does")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
