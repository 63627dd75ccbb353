"""Networks as files for every side, in one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arm_tosa_core.support.errors import ToolError
from benchmarks.registry import Network
from benchmarks.results import Run
from benchmarks.vgf import peers
from benchmarks.vgf.manifest import Manifest, Program
from benchmarks.vgf.networks import compiled, periodic, random_input

Array = np.ndarray[Any, Any]
#: What ncnn computes in on a GPU: integers it runs on the CPU.
NCNN_TYPES = ("fp32", "fp16")


def prepare(folder: Path, cases: Iterable[tuple[str, Sequence[str]]], iree_target: str) -> None:
    """Writes all programs of networks in their number types, inputs and a manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    run = Run.here("vgf")
    programs = [program for name, schemes in cases for program in _programs(folder, name, schemes, iree_target)]
    Manifest(run.commit, run.date, run.versions, programs).write(folder)


def _programs(folder: Path, name: str, schemes: Sequence[str], iree_target: str) -> Iterator[Program]:
    made = periodic(name)
    inputs = write_inputs(folder, name, made)
    weights = made_by(partial(peers.ncnn, made), folder, Program("ncnn", name, "fp32", f"{name}.ncnn", inputs))
    for scheme in NCNN_TYPES:
        yield Program("ncnn", name, scheme, weights.file, weights.inputs, weights.error)
    for scheme in sorted(schemes, key=lambda scheme: scheme == "fp16"):  # which changes the network
        vgf, tosa = compiled(made, scheme)
        file = f"{name}-{scheme}"
        of_scheme = write_inputs(folder, name, made, "float16" if scheme == "fp16" else "float32")
        (folder / f"{file}.vgf").write_bytes(vgf)
        yield Program("vgf", name, scheme, f"{file}.vgf", of_scheme)
        if scheme != "int16":  # peers have no such type
            iree = partial(_iree, tosa, iree_target)
            yield made_by(iree, folder, Program("iree", name, scheme, f"{file}.vmfb", of_scheme))


def _iree(tosa: bytes, target: str, to: Path) -> None:
    peers.iree(tosa, to, *peers.iree_vulkan(target))


def made_by(write: Callable[[Path], None], folder: Path, program: Program) -> Program:
    """The program, whose file is written; or without a file, and with the error."""
    try:
        write(folder / program.file)
    except ToolError as error:
        said = str(error).splitlines()
        reason = next((line.strip() for line in said if " error: " in line), said[0])
        return Program(program.kind, program.network, program.scheme, "", (), reason[:300])
    return program


def write_inputs(folder: Path, name: str, made: Network, real: str = "float32") -> tuple[str, ...]:
    """Writes an array for each input of a network, ``real`` the type of real numbers; returns the files' names."""
    rng = np.random.default_rng(0)
    names = []
    for number, example in enumerate(made[1](1)):
        dtype = real if example.is_floating_point() else "int32"
        array = random_input(tuple(example.shape), dtype, rng)
        names.append(f"{name}-{number}-{dtype}.npy")
        np.save(folder / names[-1], array)
    return tuple(names)
