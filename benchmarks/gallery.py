"""What the page ``docs/gallery.md`` shows: a cell for each network, target and scheme, from the newest row of it.

``docs/site_hooks.py`` writes :func:`script` into the site, so that the page's data are the rows of the commit that the
site is built from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.cells import COMMAND
from benchmarks.gallery_networks import TASK_OF, TASKS
from benchmarks.results import Measurement

#: MHz of the system configurations that ``arm_ethosu.accelerators.DEFAULTS`` names, by Vela's ``vela.ini``.
CLOCKS = {"u55": 500, "u65": 1000, "u85": 1000}
_SCHEMES = {"a8w8": "int8", "a16w8": "int16x8", "int16": "int16x8"}
_RANDOM, _TRAINED, _FILE = "random weights", "trained weights", "a .tflite file"


@dataclass(frozen=True)
class Cell:
    """A network on a target; figures that the row lacks are None.

    Args:
        network, task, target, scheme: what was measured.
        origin: what its weights are.
        count: cycles, or of a Cortex-M instructions (``unit``).
        ms: of one inference (a language model: one token); a GPU's are measured, others are ``count`` by ``clock_mhz``.
        tensors_kib: the peak of tensors in SRAM.
        weights_kib: weights and commands, wherever they lie.
        dram_kib: of the neural accelerator's estimate the footprint, of a GPU the program's device memory.
        kept: decisions that are as in float, in per cent.
        sqnr_db: of the worst output.
        left: operators outside of delegates.
        commit, date: of the row.
        accuracy: commit and date of ``sqnr_db``, where that is of another row.
        command: what measures it again.
    """

    network: str
    task: str
    origin: str
    target: str
    scheme: str
    count: float | None
    unit: str
    ms: float | None
    clock_mhz: float | None
    tensors_kib: float | None
    weights_kib: float | None
    dram_kib: float | None
    kept: float | None
    sqnr_db: float | None
    left: float | None
    commit: str
    date: str
    accuracy: str
    command: str


@dataclass(frozen=True)
class Source:
    """How rows of a benchmark become cells.

    Args:
        command: what measures a case again, with the keys of the case.
        origin: of its networks.
        target: of a row.
        metrics: ours to the row's, each with what to multiply by.
        needs: a metric that rows without a result have not.
    """

    command: str
    origin: str
    metrics: Mapping[str, tuple[str, float]]
    target: Callable[[Measurement], str] = lambda row: row.case["target"]
    needs: str = "cycles"


_VELA = {"count": ("cycles", 1), "tensors_kib": ("sram_kib", 1), "weights_kib": ("flash_kib", 1), "left": ("left", 1)}
_NX = {"count": ("cycles", 1), "ms": ("latency_ms", 1), "dram_kib": ("dram_footprint_bytes", 1 / 1024)}
_LLM = {"count": ("decode_cycles", 1), "tensors_kib": ("decode_sram_kib", 1), "left": ("left", 1)}
#: The system that the estimator of the neural accelerator takes where none is named.
_NX_SYSTEM = "system-config-neural-technology-default"


def _gpu(row: Measurement) -> str:
    found = re.search(r"NVIDIA \w+", row.machine)
    return f"vgf, {found[0]}" if found else ""


def _target_or_chip(row: Measurement) -> str:
    chip, target = row.case.get("chip"), row.case["target"]
    return f"{chip} ({target})" if chip else target


#: By benchmark.
SOURCES: dict[str, Source] = {
    "cells": Source(
        COMMAND,
        _RANDOM,
        {key: (key, 1) for key in ("ms", "left", "tensors_kib", "weights_kib")} | {"count": ("cycles", 1)},
        _target_or_chip,
    ),
    "lowering": Source(
        "python -m benchmarks.lowering --models {network} --targets {target} --sides ours --repeat 1",
        _RANDOM,
        _VELA | {"sqnr_db": ("sqnr_db", 1)},
    ),
    "ethosu_peers": Source(
        "python -m benchmarks.ethosu_peers --networks {network} --targets {target} --sides ours --again",
        _RANDOM,
        _VELA,
    ),
    "real": Source(
        "nox -s bench-real -- --networks {network} --targets {target} --schemes {scheme} --sides ours",
        _TRAINED,
        _VELA | {"kept": ("agree", 1), "sqnr_db": ("worst_db", 1)},
    ),
    "tflite_files": Source(
        "python -m benchmarks.tflite_files FOLDER/{network}.tflite --targets {target} --sides ours", _FILE, _VELA
    ),
    "nx": Source(
        "nox -s bench-nx -- --networks {network} --edges {edges} --sides ours",
        _RANDOM,
        _NX | {"left": ("left", 1)},
        lambda row: "vgf, NX (estimate)",
    ),
    "llm": Source(
        "python -m benchmarks.llm --sides ours --schemes {scheme} --contexts {context} --targets {target}",
        _TRAINED,
        _LLM | {"weights_kib": ("weight_bytes", 1 / 1024)},
        needs="decode_cycles",
    ),
    "llm_large": Source(
        "python -m benchmarks.llm.large --targets {target}", _RANDOM, _LLM, needs="decode_cycles"
    ),
    "cortex_m_costs": Source(
        "python -m benchmarks.cortex_m_costs",
        _RANDOM,
        {"count": ("instructions", 1)},
        lambda row: row.case["core"],
        "instructions",
    ),
    "vgf_frames": Source(
        "python -m benchmarks.vgf_frames --measure DIR",
        _RANDOM,
        {"ms": ("device_ms", 1), "dram_kib": ("memory_mib", 1024)},
        _gpu,
        "device_ms",
    ),
    "vgf": Source(
        "python -m benchmarks.vgf --measure DIR",
        _RANDOM,
        {"ms": ("device_ms", 1), "dram_kib": ("memory_mib", 1024)},
        _gpu,
        "device_ms",
    ),
}  # fmt: skip


def cells(rows: Iterable[Measurement]) -> list[Cell]:
    """The newest cell of each network, target and scheme, by name."""
    kept: dict[tuple[str, str, str], Cell] = {}
    known = sorted(rows, key=lambda row: row.date)
    # Of the flow that ``ethosu_peers`` has too.
    judged = {
        row.case["network"]: row
        for row in known
        if row.benchmark == "lowering" and row.side == "ours" and "sqnr_db" in row.metrics
    }
    trained = {row.case["network"] for row in known if row.benchmark == "real"}
    for row in known:
        if (source := SOURCES.get(row.benchmark)) and _counts(row, source):
            cell = _cell(row, source, judged)
            if cell.network in trained:
                cell = replace(cell, origin=_TRAINED)
            key = (cell.network, cell.target, cell.scheme)
            kept[key] = cell
    return [kept[key] for key in sorted(kept)]


def _counts(row: Measurement, source: Source) -> bool:
    if row.side != "ours" or source.needs not in row.metrics or "budget" in row.case:
        return False
    if row.case.get("network", "").startswith("stack-") or row.case.get("system", _NX_SYSTEM) != _NX_SYSTEM:
        return False
    return row.benchmark != "vgf" or row.case.get("engine") == "compute"


def _cell(row: Measurement, source: Source, judged: Mapping[str, Measurement]) -> Cell:
    name = row.case.get("network") or row.case["file"]
    scheme = row.case.get("scheme", "int8")
    found = {ours: float(row.metrics[key]) * by for ours, (key, by) in source.metrics.items() if key in row.metrics}
    if not found.get("weights_kib", 1):
        del found["weights_kib"]  # Vela counts only flash in rows that are older than ``constants_in_*``
    if {"work_mib", "constants_mib"} <= row.metrics.keys():
        found["dram_kib"] = 1024 * (row.metrics["work_mib"] + row.metrics["constants_mib"])
    target = source.target(row)
    clock = CLOCKS.get(target.split("-")[1]) if target.startswith("ethos-u") else None
    if clock and "ms" not in found:
        found["ms"] = found["count"] / clock / 1e3
    elif "ms" in found and "count" in found:
        clock = round(found["count"] / found["ms"] / 1e3)
    accuracy = judged.get(name) if row.benchmark == "ethosu_peers" else None
    if accuracy:
        found["sqnr_db"] = float(accuracy.metrics["sqnr_db"])
    shown = _SCHEMES.get(scheme, scheme) + (", integer edges" if row.case.get("edges") == "integer" else "")
    kind = "chip" if "chip" in row.case else "target"
    blank: dict[str, Any] = dict.fromkeys(
        ("count", "ms", "tensors_kib", "weights_kib", "dram_kib", "kept", "sqnr_db", "left")
    )
    return Cell(
        network=name + (f", context {row.case['context']}" if "context" in row.case else ""),
        task=TASK_OF[name],
        origin=source.origin,
        target=target,
        scheme=shown,
        unit="" if "count" not in found else "instructions" if source.needs == "instructions" else "cycles",
        clock_mhz=clock,
        commit=row.commit,
        date=row.date,
        accuracy=f"{accuracy.date[:10]}, {accuracy.commit}" if accuracy else "",
        command=source.command.format(**{"network": name, **row.case}, kind=kind, on=row.case.get(kind)),
        **blank | {key: round(value, 4) for key, value in found.items()},
    )


def unmeasured(found: Sequence[Cell]) -> list[str]:
    """The networks without a cell."""
    names = {cell.network.partition(", ")[0] for cell in found}
    return [name for name in TASK_OF if name not in names]


def script(rows: Iterable[Measurement]) -> str:
    """The page's data as JavaScript, which a page that is opened from a folder may load, as it may not load JSON."""
    found = cells(rows)
    data = {
        "tasks": list(TASKS),
        "cells": [{key: value for key, value in asdict(cell).items() if value not in (None, "")} for cell in found],
        "unmeasured": unmeasured(found),
    }
    return f"const GALLERY = {json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"
