"""VGF in frames of an application: recording, the device's time and memory, beside PyTorch with CUDA on the same card.

    python -m benchmarks.vgf_frames --prepare DIR PROGRAM   # PROGRAM: vgf_frame of the runtime's tests
    python -m benchmarks.vgf_frames --measure DIR           # measure on a machine with a GPU, which needs Python alone
    python -m benchmarks.vgf_frames --memory PROGRAM        # 10,000 frames of a small network on this machine

Tensors lie on the device, three frames are in flight, each is recorded anew; replay_us: with ProgramOptions::replay.
Weights repeat, as in benchmarks.vgf. nss_v1 is of the packages in benchmarks/nx/requirements.txt, without their own.
PyTorch runs fp16, and fp32 without TF32, in a CUDA graph: the faster of both memory formats.
By how much memory grows is measured from a tenth of the frames to the last one: the memory that the process has, and
device memory of the program (held_mib).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.results import Measurement, Run, default_file, progress, record

NETWORKS = {
    "unet540": (1, 12, 544, 960),
    "sr360": (1, 3, 360, 640),
    "nss_v1": (1, 12, 544, 960),
    "mobilenet_v2": (1, 3, 224, 224),
}
SCHEMES = ("int8", "fp16", "fp32")
PEERS = ("unet540", "sr360")  # whose modules need nothing but PyTorch
IN_FLIGHT = 3
SMALL = ("digits", "int8")  # whose frames take little on a processor
MANY_FRAMES = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vgf_frames",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_mutually_exclusive_group(required=True)
    steps.add_argument("--prepare", nargs=2, type=Path, metavar=("DIR", "PROGRAM"))
    steps.add_argument("--measure", type=Path, metavar="DIR")
    steps.add_argument("--memory", type=Path, metavar="PROGRAM")
    parser.add_argument("--frames", type=int, help=f"default: 2000, with --memory {MANY_FRAMES}")
    parser.add_argument("--results", type=Path, metavar="FILE", help="default: in benchmarks/results")
    options = parser.parse_args()
    if options.prepare:
        prepare(*options.prepare)
        return
    if options.memory:
        rows, file = many_frames(options.memory, options.frames or MANY_FRAMES), default_file("vgf_frame_memory")
    else:
        rows, file = measured(options.measure.resolve(), options.frames or 2000), default_file("vgf_frames")
    for measurement in record(options.results or file, rows):
        print(progress(measurement), flush=True)


def prepare(folder: Path, program: Path) -> None:
    """Writes the networks and the program that plays them into a folder, with the run that made them."""
    from benchmarks.vgf.networks import compiled, periodic

    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, folder / "vgf_frame")
    run = Run.here("vgf_frames")
    (folder / "run.json").write_text(json.dumps({"commit": run.commit, "versions": run.versions}), encoding="utf-8")
    for network in NETWORKS:
        made = periodic(network)
        for scheme in sorted(SCHEMES, key=lambda scheme: scheme == "fp16"):  # which changes the network
            (folder / f"{network}-{scheme}.vgf").write_bytes(compiled(made, scheme)[0])


def measured(folder: Path, frames: int) -> Iterator[Measurement]:
    """Measurements of the programs of a folder, each beside its peer."""
    made = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "vgf_frame").chmod(0o755)
    here = Run.here("vgf_frames", gpu=_played(folder, "requirements").splitlines()[-1])
    run = replace(here, commit=made["commit"], versions={**made["versions"], **here.versions})
    for network, shape in NETWORKS.items():
        for scheme in SCHEMES:
            case = {"network": network, "scheme": scheme}
            words = ("times", f"{network}-{scheme}.vgf", str(frames), str(IN_FLIGHT))
            replayed = json.loads(_played(folder, *words, "replay"))
            found = {**json.loads(_played(folder, *words)), "replay_us": replayed["record_us"]}
            yield run.measured(case, "ours", found)
            if network in PEERS and scheme.startswith("fp") and find_spec("torch"):
                yield run.measured(case, "torch", {"device_ms": cuda_graph_ms(network, shape, scheme)})


def many_frames(program: Path, frames: int) -> Iterator[Measurement]:
    """What frames on end take of the memory of this machine and of its Vulkan device, with a small network."""
    from benchmarks.vgf.networks import compiled, periodic

    network, scheme = SMALL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(program, folder / "vgf_frame")
        (folder / "a.vgf").write_bytes(compiled(periodic(network), scheme)[0])
        run = Run.here("vgf_frame_memory", gpu=_played(folder, "requirements").splitlines()[-1])
        found = json.loads(_played(folder, "times", "a.vgf", str(frames), str(IN_FLIGHT)))
        case = {"network": network, "scheme": scheme, "frames": str(frames)}
        yield run.measured(case, "ours", {key: value for key, value in found.items() if key.endswith("_mib")})


def _played(folder: Path, *words: str) -> str:
    """What ``vgf_frame`` says.

    Raises:
        CalledProcessError: it failed.
    """
    command = [str(folder / "vgf_frame"), *words]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=600, check=True).stdout


def cuda_graph_ms(network: str, shape: tuple[int, ...], scheme: str, runs: int = 60) -> float:
    """Milliseconds on the GPU of a network in PyTorch, in the faster of both memory formats."""
    import torch

    from benchmarks.nx import graphics

    cuda: Any = torch.cuda  # whose types are not said
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    dtype = {"fp16": torch.float16, "fp32": torch.float32}[scheme]
    medians: list[float] = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        module = {"unet540": graphics.UNet540, "sr360": graphics.Sr360}[network]().to("cuda", dtype).eval()
        module = module.to(memory_format=memory_format)
        x = torch.rand(shape, device="cuda", dtype=dtype).to(memory_format=memory_format)
        with torch.no_grad():
            side = cuda.Stream()
            with cuda.stream(side):
                for _ in range(5):
                    module(x)
            cuda.synchronize()
            graph = cuda.CUDAGraph()
            with cuda.graph(graph):
                module(x)
        times: list[float] = []
        for _ in range(runs):
            begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        medians.append(statistics.median(times))
    return min(medians)


if __name__ == "__main__":
    main()
