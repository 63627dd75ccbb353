"""Trains a small network on handwritten digits, compiles it for four targets and shows what came out.

    python examples/digits.py --out demo-artifacts

Steps, as in any ExecuTorch program: train, export, quantize (PT2E), export again, lower, save, run. Accuracy
"reference" is that of the compiled TOSA graph on the TOSA reference model, on digits that the training never saw;
accuracy "run" is that of the saved program in ExecuTorch's runtime, Ethos-U on the functional model, VGF on Vulkan.
At last the program of Ethos-U55 becomes firmware, which QEMU runs.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.lowered_backend_module import get_lowered_submodules
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import digits_firmware
import digits_model
import in_qemu
from arm_ethosu import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer
from arm_tosa_core import TosaCompileSpec, TOSAPartitioner, TOSAQuantizer, get_symmetric_quantization_config
from arm_vgf import VgfCompileSpec, VgfPartitioner, VgfQuantizer
from reference_interpreter import ReferenceInterpreter

HELD_OUT = 360  # of 1797 digits

#: Per target: a compile spec, and the quantizer and partitioner that take it.
TARGETS: dict[str, tuple[Callable[[], Any], type[TOSAQuantizer], type[TOSAPartitioner]]] = {
    "tosa": (lambda: TosaCompileSpec("TOSA-1.0+INT"), TOSAQuantizer, TOSAPartitioner),
    "ethos-u55-128": (lambda: EthosUCompileSpec("ethos-u55-128"), EthosUQuantizer, EthosUPartitioner),
    "ethos-u85-256": (lambda: EthosUCompileSpec("ethos-u85-256"), EthosUQuantizer, EthosUPartitioner),
    "vgf": (lambda: VgfCompileSpec("TOSA-1.0+INT"), VgfQuantizer, VgfPartitioner),
}


@dataclass
class Result:
    """One row of the table. Accuracy is top-1 in percent; cycles and SRAM (KiB) are Vela's estimate.

    Of a program that ran, ``same_scores`` says whether all scores equal those of the reference model bit for bit.
    """

    target: str
    delegated: int
    on_cpu: int
    pte_bytes: int
    cycles: int | None
    sram_kib: float | None
    top1_float: float
    top1_reference: float
    top1_run: float | None
    same_scores: bool | None


def main() -> None:
    """Trains once, compiles for every target, prints the table, leaves the artifacts."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="copyreg")  # PyTorch's, about itself
    options = _arguments()
    _make_room(options.out)
    console = Console(width=max(119, Console().width))  # the table's width, also when the output is a file
    pictures, labels = digits_model.load()
    train, held_out = (pictures[HELD_OUT:], labels[HELD_OUT:]), (pictures[:HELD_OUT], labels[:HELD_OUT])
    with Progress(console=console) as progress:
        task = progress.add_task("training", total=options.epochs)
        net = digits_model.train(
            *train,
            options.epochs,
            lambda loss: progress.update(task, advance=1, description=f"training, loss {loss:.4f}"),
        )
    with torch.no_grad():
        top1_float = _percent(net(held_out[0]), held_out[1])

    results = []
    for target in options.targets:
        start = time.perf_counter()
        folder = options.out / target
        edge, graphs = compile_for(target, net, train[0], folder)
        judged, expected = judged_digits(held_out, options.judged)
        scores = run_on_reference_model(edge, graphs, judged)
        result = _result(target, edge, folder, top1_float, _percent(scores, expected))
        if target != "tosa":  # there is no device for TOSA itself
            own = run_program(folder / "digits.pte", judged)
            result = replace(result, top1_run=_percent(own, expected), same_scores=torch.equal(own, scores))
        results.append(result)
        _save(results, options.out)
        console.print(f"{target}: quantized, compiled and judged in {time.perf_counter() - start:.1f} s")
    console.print(_table(results, options.judged))
    if "ethos-u55-128" in options.targets:
        console.print(_firmware(options.out, *judged_digits(held_out, options.judged)))
    console.print(f"The artifacts are in [bold]{options.out.resolve()}[/bold]", soft_wrap=True)


def judged_digits(held_out: tuple[torch.Tensor, torch.Tensor], count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures and labels that compiled programs are judged on."""
    return held_out[0][:count], held_out[1][:count]


def _firmware(out: Path, pictures: torch.Tensor, labels: torch.Tensor) -> str:
    """The network of Ethos-U55 as firmware in QEMU, in words; leaves its sources in ``firmware``."""
    if lacking := in_qemu.missing():
        return f"Firmware was not built: {', '.join(lacking)} not installed"
    pte = out / "ethos-u55-128" / "digits.pte"
    made = digits_firmware.run(pte, pictures, out / "firmware")
    same = "equal to" if torch.equal(made.scores, run_program(pte, pictures)) else "NOT equal to"
    return (
        f"Firmware for Cortex-M55 and Ethos-U55, in QEMU: top-1 {_percent(made.scores, labels):.1f} %, scores {same} "
        f"those of digits.pte. ELF: {made.elf:,} bytes with the functional model of the NPU, {made.elf_without_npu:,} "
        f"without. Arena: {made.arena:,} bytes"
    )


def compile_for(
    target: str, net: torch.nn.Module, calibration: torch.Tensor, folder: Path
) -> tuple[EdgeProgramManager, list[bytes]]:
    """Quantizes and lowers the network for one picture at a time, and leaves the tools' artifacts in the folder.

    Returns:
        The lowered program, and the TOSA flatbuffer of each of its delegates.
    """
    folder.mkdir(parents=True, exist_ok=True)
    make_spec, quantizer_class, partitioner_class = TARGETS[target]
    spec = make_spec().dump_intermediate_artifacts_to(folder)
    quantizer = quantizer_class(spec).set_global(get_symmetric_quantization_config(is_per_channel=True))
    example = (calibration[:1],)

    prepared = prepare_pt2e(torch.export.export(net, example).module(), quantizer)
    with torch.no_grad():
        for picture in calibration[:100].split(1):  # the observers see what the activations range over
            prepared(picture)
    quantized = torch.export.export(convert_pt2e(prepared), example)

    edge = to_edge_transform_and_lower(quantized, partitioner=[partitioner_class(spec)])
    return edge, [path.read_bytes() for path in sorted(folder.glob(f"delegate_*/{target}.tosa"))]


def run_on_reference_model(edge: EdgeProgramManager, graphs: list[bytes], pictures: torch.Tensor) -> torch.Tensor:
    """Scores [N, 10] of the compiled program, one picture at a time as it was compiled."""
    program = ReferenceInterpreter(edge, graphs)
    return torch.cat([program.run(picture)[0] for picture in pictures.split(1)])


def run_program(path: Path, pictures: torch.Tensor) -> torch.Tensor:
    """Scores [N, 10] of a saved program in ExecuTorch's runtime, one picture at a time."""
    import executorch.kernels.quantized  # noqa: F401  # quantize and dequantize at the program's edges
    from executorch.runtime import Runtime

    import arm_runtime  # noqa: F401  # registers the delegates

    method = Runtime.get().load_program(path).load_method("forward")
    return torch.cat([method.execute([picture])[0].clone() for picture in pictures.split(1)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo-artifacts"), help="folder for the artifacts")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--judged", type=int, default=HELD_OUT, help="held-out digits to run as compiled")
    return parser.parse_args()


def _make_room(out: Path) -> None:
    """Empties a folder that an earlier demo left; any other folder must be empty."""
    if (out / "results.json").exists():
        shutil.rmtree(out)
    elif out.exists() and any(out.iterdir()):
        raise SystemExit(f"{out} holds other files: name an empty or a new folder with --out")
    out.mkdir(parents=True, exist_ok=True)
    _save([], out)


def _save(results: list[Result], out: Path) -> None:
    (out / "results.json").write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")


def _percent(scores: torch.Tensor, labels: torch.Tensor) -> float:
    return 100 * float((scores.argmax(1) == labels).float().mean())


def _result(target: str, edge: EdgeProgramManager, folder: Path, top1_float: float, top1_reference: float) -> Result:
    """The figures of one target; also leaves ``digits.pte`` in the folder."""
    program = edge.exported_program().graph_module
    delegated = sum(_operators(lowered.original_module.graph) for _, lowered, _ in get_lowered_submodules(program))
    on_cpu = _operators(program.graph)
    with (folder / "digits.pte").open("wb") as file:
        edge.to_executorch().write_to_file(file)  # plans memory, which adds operators to the graph: hence last
    cycles = sram_kib = None
    for path in folder.glob("**/*summary*.csv"):  # Vela's
        with path.open(newline="") as file:
            summary = next(csv.DictReader(file))
        cycles, sram_kib = int(float(summary["cycles_total"])), float(summary["sram_memory_used"])
    return Result(
        target=target,
        delegated=delegated,
        on_cpu=on_cpu,
        pte_bytes=(folder / "digits.pte").stat().st_size,
        cycles=cycles,
        sram_kib=sram_kib,
        top1_float=top1_float,
        top1_reference=top1_reference,
        top1_run=None,
        same_scores=None,
    )


def _operators(graph: torch.fx.Graph) -> int:
    """Operators that compute something: quantize, dequantize, the delegate calls and tuple reads do not count."""
    names = [node.target.__name__ for node in graph.nodes if node.op == "call_function"]
    return sum(not any(part in name for part in ("quantize_per", "getitem", "call_delegate")) for name in names)


def _table(results: list[Result], judged: int) -> Table:
    table = Table(
        title="Handwritten digits, int8",
        caption=f"top-1 on {judged} held-out digits: reference, the compiled graph on the TOSA reference model; "
        "run, the program in ExecuTorch, Ethos-U on the functional model, VGF on Vulkan; = if all scores are equal",
    )
    table.add_column("target", no_wrap=True)
    for heading in ("delegated / not", ".pte, bytes", "Vela cycles", "tensors, KiB", "top-1 float", "reference", "run"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in results:
        table.add_row(
            row.target,
            f"{row.delegated} / {row.on_cpu}",
            f"{row.pte_bytes:,}",
            "" if row.cycles is None else f"{row.cycles:,}",
            "" if row.sram_kib is None else f"{row.sram_kib:.1f}",
            f"{row.top1_float:.1f} %",
            f"{row.top1_reference:.1f} %",
            "" if row.top1_run is None else f"{'=' if row.same_scores else '!'} {row.top1_run:.1f} %",
        )
    return table


if __name__ == "__main__":
    main()
