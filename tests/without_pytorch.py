"""What needs no PyTorch: a TOSA graph is made, compiled for Ethos-U and VGF, and run: on the TOSA reference model, and
the VGF on this machine's Vulkan device.

Run by ``nox -s pythons`` with a Python that has the packages but no PyTorch: ``python -I without_pytorch.py``, in an
empty folder.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np

from arm_tosa_core.tosa.graph import Graph
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.serializer import serialize
from arm_tosa_core.tosa.specification import TosaSpecification


def arm_tosa(*words: str) -> str:
    """What the command prints."""
    command = [str(Path(sys.executable).with_name("arm-tosa")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    assert importlib.util.find_spec("torch") is None, "PyTorch is installed"
    graph = Graph()
    image = graph.input("image", [1, 4, 4, 3], DType.INT8)
    pool = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0)}
    graph.outputs.append(graph.append("MAX_POOL2D", [image], pool).output)
    Path("pool.tosa").write_bytes(serialize(graph, TosaSpecification.create_from_string("TOSA-1.0+INT")))
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 3), np.int8)
    np.save("x.npy", x)

    assert "ethos-u55-128" in arm_tosa("targets")
    arm_tosa("compile", "pool.tosa", "--target", "ethos-u55-128", "-o", "pool.vela")
    assert Path("pool.vela").read_bytes()[:16] == b"vela_bin_stream\0"
    arm_tosa("run", "pool.tosa", "--input", "x.npy", "--output", "y.npy")
    wanted = x.reshape(1, 2, 2, 2, 2, 3).max((2, 4))
    assert (np.load("y.npy") == wanted).all()
    arm_tosa("compile", "pool.tosa", "--target", "vgf", "-o", "pool.vgf")
    arm_tosa("run", "pool.vgf", "--input", "x.npy", "--output", "of_vgf.npy")
    assert (np.load("of_vgf.npy").reshape(wanted.shape) == wanted).all()
    print(f"ok: Python {sys.version.split()[0]} compiles and runs a .tosa and a .vgf without PyTorch")


if __name__ == "__main__":
    main()
