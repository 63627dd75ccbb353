"""A network in int8 on this machine's processor: what to use where there is no GPU.

    python -m benchmarks.vgf_host                      # MobileNetV2
    python -m benchmarks.vgf_host --network resnet18 --sides compute,xnnpack

Sides take turns, each in a process of its own. Our compute engine and Arm's emulation layer run on llvmpipe; the others
are ExecuTorch's XNNPACK delegate, IREE (llvm-cpu, of the same TOSA graph), ncnn (fp32), our functional model of
Ethos-U85 (plain loops in C++) and the TOSA reference model. CPU milliseconds are of all threads of the process.
Needs what ``python -m benchmarks.vgf --prepare`` needs.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.registry import Network
from benchmarks.results import Measurement, Run, add_results_option, progress, record
from benchmarks.vgf import peers
from benchmarks.vgf.manifest import Program
from benchmarks.vgf.measure import Turn, kind_of, take_turns
from benchmarks.vgf.networks import compiled, periodic
from benchmarks.vgf.prepare import made_by, write_inputs

SIDES = ("compute", "layer", "xnnpack", "iree-cpu", "ncnn-cpu", "ethosu_model", "reference_model")
ACCELERATOR = "ethos-u85-256"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="mobilenet_v2")
    parser.add_argument("--sides", type=lambda words: words.split(","), default=SIDES)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each side in a round")
    parser.add_argument("--rounds", type=int, default=5)
    add_results_option(parser, "vgf_host")
    for measurement in record((options := parser.parse_args()).results, _measured(options)):
        print(progress(measurement), flush=True)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        programs = {program.kind: program for program in _programs(folder, options.network, periodic(options.network))}
        turns = [Turn(side, programs[kind_of(side)]) for side in options.sides]
        run = Run.here("vgf_host", gpu=take_turns(folder, turns, options.repeat, options.rounds))
    for turn in turns:
        case = {"network": options.network, "scheme": turn.program.scheme}
        yield run.measured(case, "ours" if turn.side == "compute" else turn.side, turn.metrics)


def _programs(folder: Path, name: str, made: Network) -> Iterator[Program]:
    inputs = write_inputs(folder, name, made)
    vgf, tosa = compiled(made, "int8")
    (folder / "net.vgf").write_bytes(vgf)
    yield Program("vgf", name, "int8", "net.vgf", inputs)
    (folder / "net.tosa").write_bytes(tosa)
    yield Program("reference_model", name, "int8", "net.tosa", inputs)
    (folder / "net.bin").write_bytes(compiled(made, "int8", ACCELERATOR)[0])
    yield Program("ethosu_model", name, "int8", "net.bin", write_inputs(folder, name, made, "int8"))
    for kind, scheme, file, write in (
        ("iree-cpu", "int8", "net.vmfb", partial(_iree, tosa)),
        ("ncnn-cpu", "fp32", "ncnn", partial(peers.ncnn, made)),
        ("xnnpack", "int8", "net.pte", partial(peers.xnnpack, made)),
    ):
        yield made_by(write, folder, Program(kind, name, scheme, file, inputs))


def _iree(tosa: bytes, to: Path) -> None:
    peers.iree(tosa, to, *peers.IREE_CPU)


if __name__ == "__main__":
    main()
