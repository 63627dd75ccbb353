"""What Arm's NX estimator writes of a network: its figures, and the steps that the accelerator takes.

A JSON file has the sums. Two databases have the rest: one has a row for each step, a *stripe*, with its cycles; the
other says of which operators of the VGF each stripe is. It names these by their results in the SPIR-V module.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arm_tosa_core.support.database_tables import Rows, tables

#: An operator, as a label names it where the module has no names.
_LABEL = re.compile(r"TOSA([A-Z0-9_]+)_spirv_id_(\d+)", re.ASCII)
#: Tables whose rows are made of rows of others, and the column that says of which.
_GROUPS = {"fused_op_id": "tosa_op_ids", "chain_op_id": "fused_op_ids", "cascade_op_id": "op_ids"}
#: What reports call the units of the accelerator.
_UNITS = {
    "InputReader": "input reader",
    "ConvolutionEngine": "convolution engine",
    "VectorEngine": "vector engine",
    "TransformUnit": "transform unit",
    "WeightDecoder": "weight decoder",
    "OutputWriter": "output writer",
}
#: The bound of a step in which no unit and no memory is busy for half of the time.
WAITING = "waiting"


@dataclass(frozen=True)
class NxOperator:
    """An operator of a VGF.

    Args:
        kind: as TOSA calls it.
        id: of its result in the SPIR-V module.
    """

    kind: str
    id: int


@dataclass(frozen=True)
class NxStep:
    """Operators that the accelerator computes as one.

    Args:
        cycles: of the network's.
        bytes: read from and written to DRAM.
        bound: the unit or memory that is busy for the most cycles.
    """

    operators: list[NxOperator]
    cycles: float
    bytes: int
    bound: str


@dataclass(frozen=True)
class NxEstimate:
    """What the estimator says of a VGF.

    Args:
        figures: as of ``Reporting.estimate``; empty where it rates nothing.
        steps: in order; empty where ``problem`` says why.
        unrated: shaders of the GPU, which it does not rate, each by its operators.
        problem: why steps are not known, in a few words.
    """

    figures: dict[str, float] = field(default_factory=dict)
    steps: list[NxStep] = field(default_factory=list)
    unrated: list[list[NxOperator]] = field(default_factory=list)
    problem: str = ""


def figures_of(summary: Mapping[str, Any]) -> dict[str, float]:
    """The figures in a summary, as of ``Reporting.estimate``; empty where nothing is rated.

    Raises:
        ValueError, KeyError, TypeError: they are not there, or no figures.
    """
    network = summary["network_performance"]
    cycles, seconds, footprint = (
        _figure(network, name) for name in ("total_cycles", "inference_time", "dram_footprint")
    )
    if not cycles or not seconds:
        return {}
    clock = round(cycles / (seconds * 1e-3), -3)  # it has 24 bits
    figures = {"cycles": cycles, "clock_hz": clock, "dram_kib": footprint / 1024}
    if (dram := network.get("dram")) is not None:  # else nothing is moved from or to it
        moved = {"dram_read_kib": "read_bytes", "dram_written_kib": "write_bytes"}
        figures |= {name: _figure(dram, theirs) / 1024 for name, theirs in moved.items()}
    return figures


def _figure(values: Mapping[str, Any], name: str) -> float:
    value = float(values[name]["value"])
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} is {value}")
    return value


def steps_of(performance: str, debug: str, cycles: float) -> tuple[list[NxStep], list[list[NxOperator]]]:
    """The steps in the databases, and the operators of each shader.

    Args:
        cycles: of the network; those of the steps must add up to them.

    Raises:
        ValueError, KeyError, TypeError: the databases are of another form, or disagree.
    """
    rated, known = tables(performance).get("performance", []), tables(debug)
    operators = _operators(known)
    sums: dict[str, tuple[float, int, dict[str, int]]] = {}
    by_stripe = {row["id"]: row for row in rated}
    for stripe in known["stripe_op_id"]:
        if (row := by_stripe.pop(stripe["id"], None)) is None:
            continue
        total, moved, busy = sums.get(stripe["op_id"], (0.0, 0, {}))
        own, size = _busy(row)
        busy = {name: busy.get(name, 0) + own.get(name, 0) for name in {**busy, **own}}
        sums[stripe["op_id"]] = (total + float(row["totalCycles"]), moved + size, busy)
    if by_stripe:
        raise ValueError(f"no stripe of {sorted(by_stripe)}")
    if (whole := sum(total for total, _, _ in sums.values())) != cycles:
        raise ValueError(f"{whole:,.0f} cycles of {cycles:,.0f}")
    steps = [
        NxStep(list(dict.fromkeys(operators[key])), total, moved, _bound(busy, total))
        for key, (total, moved, busy) in sums.items()
    ]
    if not all(step.operators for step in steps):
        raise ValueError("a step of no operator")
    return steps, [operators[row["id"]] for row in known["shader_op_id"] if operators[row["id"]]]


def _operators(known: Mapping[str, Rows]) -> dict[str, list[NxOperator]]:
    """The operators that each row of the tables stands for, by its number.

    A helper of an operator, such as a Reshape of its weights, has the operator's label. It counts only where nothing
    else is computed: the operator is where it is itself.
    """
    labelled = {
        row["id"]: (row.get("tosa_op"), [_operator(label) for label in _parts(row["api_labels"])])
        for table in ("tosa_op_id", "shader_op_id")
        for row in known[table]
    }
    themselves = {each for name, operators in labelled.values() for each in operators if _is_named(each, name)}
    own = {
        id: [each for each in operators if each not in themselves or _is_named(each, name)]
        for id, (name, operators) in labelled.items()
    }
    every = {id: operators for id, (_, operators) in labelled.items()}
    for found in (own, every):
        for table, column in _GROUPS.items():
            for row in known[table]:
                found[row["id"]] = [each for part in _parts(row[column]) for each in found[part]]
    return {id: own[id] or every[id] for id in every}


def _is_named(operator: NxOperator, name: str | None) -> bool:
    """Whether a name such as ``DepthwiseConv2D`` is the operator's; None: of one that is not rated."""
    return name is None or operator.kind.replace("_", "") == name.upper()


def _operator(label: str) -> NxOperator:
    if (match := _LABEL.fullmatch(label)) is None:
        raise ValueError(f"a label of another form: {label!r}")
    return NxOperator(match[1], int(match[2]))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _busy(row: Mapping[str, str]) -> tuple[dict[str, int], int]:
    """The cycles in which each unit and memory is busy in a stripe, and the bytes that it moves from and to DRAM."""
    memories = _parts(row["memoryName;readBytes;writeBytes;trafficCycles"])
    units = _parts(row["sectionName;cycles"])
    busy = {_UNITS.get(name, name): int(cycles) for name, cycles in zip(units[::2], units[1::2], strict=True)}
    moved = 0
    for name, read, written, cycles in zip(*(memories[i::4] for i in range(4)), strict=True):
        busy[name] = int(cycles)
        moved += int(read) + int(written) if name == "DRAM" else 0
    return busy, moved


def _bound(busy: Mapping[str, int], cycles: float) -> str:
    name, most = max(busy.items(), key=lambda item: item[1], default=(WAITING, 0))
    return name if 2 * most >= cycles else WAITING
