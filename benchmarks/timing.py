"""The timing model of Ethos-U beside Vela's own estimate, layer by layer, and beside published cycles.

    python -m benchmarks.timing
    python -m benchmarks.timing --networks mobilenet_v2 --targets ethos-u55-128 --keep /tmp/vela
    python -m benchmarks.timing --published

Networks are quantized with one sample. A layer is an operator of Vela's schedule: its kernels by themselves, without
what overlaps, are compared with Vela's figure. TRANSPOSE and MATMUL on Ethos-U55 and U65, which become many kernels
there and which Vela rates as one, are counted apart, and so is what Vela does not rate. Fails where no layer can be
compared.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import pickle
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from arm_ethosu import EthosUCompileSpec, vela
from arm_ethosu.accelerators import ACCELERATORS, DEFAULTS, family_of
from arm_ethosu.rewrites import rewrites_for
from arm_ethosu.timing import Timeline, estimate_stream, system_of
from arm_ethosu.vela_ini import DEFAULT_INI
from arm_ethosu.vela_layers import FLAG, Layer, Layers, read_layers
from arm_tosa_core.lowering.pipeline import legalize
from arm_tosa_core.plugin.target import Target
from arm_tosa_core.tosa.loader import load
from arm_tosa_core.tosa.serializer import serialize
from benchmarks.lowered_graphs import lowered_graphs
from benchmarks.published_cycles import PUBLISHED, Published
from benchmarks.registry import NETWORKS, network
from benchmarks.results import Measurement, Run, add_results_option, run_and_record

DEFAULT = (
    "digits", "ds_cnn", "resnet8", "mobilenet_v1_025", "autoencoder", "mobilenet_v2", "mobilenet_v3_small",
    "mobilenet_v3_large", "resnet18", "resnet50", "inception_v3", "efficientnet_b0", "shufflenet_v2", "deeplab_v3",
    "convnext", "mobilevit", "bert_tiny_states", "deit_tiny", "wav2letter", "conformer",
)  # fmt: skip
TARGETS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256")
#: What Vela rates as one, where the accelerator has no command for it and gets many.
_COMPOUND = ("Transpose", "MatMul")


@dataclass(frozen=True)
class _Compiled:
    """What Vela made of a graph."""

    accelerator: str
    cycles: float
    layers: Layers
    timeline: Timeline


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=DEFAULT)
    parser.add_argument("--targets", nargs="+", choices=ACCELERATORS, default=TARGETS)
    parser.add_argument("--published", action="store_true", help="Beside published cycles in place of Vela's.")
    parser.add_argument("--keep", type=Path, help="Keep what Vela writes in this folder, and read it from there.")
    add_results_option(parser, "timing")
    options = parser.parse_args()
    measured = _published(options.keep) if options.published else _measured(options)
    return run_and_record(options.results, measured, _wrong)


def _measured(options: argparse.Namespace) -> Iterator[Measurement]:
    run = Run.here("timing")
    for name in options.networks:
        graphs: dict[str, list[bytes]] = {}
        for accelerator in options.targets:
            spec = str(DEFAULTS[family_of(accelerator)].tosa_spec)
            if spec not in graphs:
                graphs[spec] = _graphs(name, accelerator)
            made = [_compiled(tosa, accelerator, "", options.keep) for tosa in graphs[spec]]
            yield run.measured({"network": name, "target": accelerator}, "ours", _metrics(made))


def _graphs(name: str, accelerator: str) -> list[bytes]:
    target = EthosUCompileSpec(accelerator).target()
    return _legal(lowered_graphs(name, _plain(target, accelerator)), _plain(target, accelerator))


def _plain(target: Target, accelerator: str) -> Target:
    """Without the rewrites that ask Vela."""
    return replace(target, rewrites=rewrites_for(accelerator))


def _legal(graphs: Sequence[bytes], target: Target) -> list[bytes]:
    return [serialize(legalize(load(tosa), target), target.tosa_spec) for tosa in graphs]


def _compiled(tosa: bytes, accelerator: str, memory_mode: str, keep: Path | None) -> _Compiled:
    """Compiles a graph, or reads what was kept of that."""
    defaults = DEFAULTS[family_of(accelerator)]
    options: dict[str, Any] = {
        "accelerator": accelerator,
        "config": DEFAULT_INI,
        "system_config": defaults.system_config,
        "memory_mode": memory_mode or defaults.memory_mode,
        "flags": (FLAG,),
        "timeout": 3600.0,
    }
    key = hashlib.sha256(repr(sorted(options.items())).encode() + tosa).hexdigest()
    file = keep / key if keep is not None else None
    if file is not None and file.is_file():
        commands, xml, cycles = pickle.loads(file.read_bytes())
    else:
        with tempfile.TemporaryDirectory(prefix="bench_timing_") as folder:
            made = vela.compile(tosa, artifacts=Path(folder), **options)
            xml = next(Path(folder).glob("*debug.xml")).read_text(encoding="utf-8")
        commands, cycles = made.arrays["cmd_data"], made.cycles
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(pickle.dumps((commands, xml, cycles)))
    layers = read_layers(xml, commands)
    system = system_of(accelerator, options["system_config"], options["memory_mode"])
    return _Compiled(accelerator, cycles, layers, estimate_stream(commands, accelerator, system, layers.kernels))


def _metrics(made: Sequence[_Compiled]) -> dict[str, Any]:
    """Cycles of the whole and of the layers that are compared, and their errors."""
    rows = [row for one in made for row in _rows(one)]
    compound = () if family_of(made[0].accelerator) == "u85" else _COMPOUND
    rated = [(layer, alone, cycles) for layer, alone, cycles in rows if layer.kind not in compound]
    errors = {f"{layer.kind} {layer.result}": alone / layer.cycles for layer, alone, _ in rated}
    metrics: dict[str, Any] = {
        "cycles": round(sum(one.timeline.cycles for one in made)),
        "vela_cycles": round(sum(one.cycles for one in made)),
        "rated_cycles": round(sum(cycles for _, _, cycles in rated)),
        "rated_alone_cycles": round(sum(alone for _, alone, _ in rated)),
        "vela_rated_cycles": round(sum(layer.cycles for layer, _, _ in rated)),
        "layers": len(rated),
        "compound": len(rows) - len(rated),
        "commands": sum(len(one.timeline.kernels) for one in made),
    }
    if errors:
        logs = [abs(math.log(ratio)) for ratio in errors.values()]
        worst = max(errors, key=lambda name: abs(math.log(errors[name])))
        metrics |= {
            "layer_error": math.exp(sum(logs) / len(logs)) - 1,
            "worst_ratio": errors[worst],
            "worst_layer": worst,
        }
    return metrics


def _rows(made: _Compiled) -> Iterator[tuple[Layer, float, float]]:
    """Each layer that Vela rates and that has kernels: with their cycles by themselves, and beside what overlaps."""
    alone: dict[int | None, float] = {}
    cycles: dict[int | None, float] = {}
    for kernel in made.timeline.kernels:
        alone[kernel.operator] = alone.get(kernel.operator, 0.0) + kernel.alone
        cycles[kernel.operator] = cycles.get(kernel.operator, 0.0) + kernel.cycles
    for number, layer in enumerate(made.layers.layers):
        if layer.cycles > 0 and alone.get(number, 0.0) > 0:
            yield layer, alone[number], cycles[number]


class _ChannelsLast(torch.nn.Module):
    """A network of images whose input is channels last."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.module(x.permute(0, 3, 1, 2))
        return found


def _published(keep: Path | None) -> Iterator[Measurement]:
    run = Run.here("timing")
    for row in PUBLISHED:
        if not row.network:
            continue
        case = {"network": row.network, "target": row.target, "memory_mode": row.memory_mode or "default"}
        target = _plain(EthosUCompileSpec(row.target).target(), row.target)
        graphs = _legal(lowered_graphs(row.network, target, _channels_last(row)), target)
        made = [_compiled(tosa, row.target, row.memory_mode, keep) for tosa in graphs]
        yield run.measured(
            {**case, "input": "channels last"}, "ours", {**_metrics(made), "published_cycles": row.cycles}
        )


def _channels_last(row: Published) -> tuple[torch.nn.Module, Any]:
    module, inputs = network(row.network)
    return _ChannelsLast(module).eval(), lambda seed: (inputs(seed)[0].permute(0, 2, 3, 1).contiguous(),)


def _wrong(measurement: Measurement) -> str:
    metrics: Mapping[str, Any] = measurement.metrics
    return "" if metrics["layers"] else "no layer of Vela's can be compared"


if __name__ == "__main__":
    sys.exit(main())
