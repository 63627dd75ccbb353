"""The contents of a page as JSON values, without their looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exir.compiled_delegate import CompiledDelegate, Layer, Live, origin_of
from ..plugin.timing import OperatorTime, TimeEstimate
from ..tosa.ir import Tensor

if TYPE_CHECKING:
    from ..accuracy.compare import Comparison
    from ..accuracy.keep import Kept
    from ..accuracy.search_result import Search
    from ..advice.advise import Advice
    from ..exir.figures import Figures
    from ..exir.report import Report, Row

#: The row for work of the device that comes from no operator of the model.
OTHERS = "(no operator of the model)"
_HISTOGRAMS = 12


@dataclass(frozen=True)
class Making:
    """The command and the options behind a page.

    Args:
        versions: of the packages that took part.
        options: of the target, as its compile spec has them.
    """

    title: str
    command: str
    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DelegateTime:
    """The time of a delegate by the target's timing model, and the tensors by their names in its flatbuffer."""

    estimate: TimeEstimate
    names: Mapping[str, Tensor]


def page_data(
    making: Making,
    report: Report | None,
    figures: Figures | None,
    times: Sequence[DelegateTime] = (),
    comparison: Comparison | None = None,
    found: Search | None = None,
    advice: Sequence[Advice] = (),
    kept: Kept | None = None,
    measure: str = "",
) -> dict[str, Any]:
    """The contents of the page.

    Args:
        report, figures: of a compilation; None where the model was not compiled.
        times: of its delegates, in order, if the target has a timing model.
        comparison: with the model in float, if it was compared.
        found: of a search for layers to keep in 16 bits.
        advice: changes that save time.
        kept: of the steps to a bound on accuracy.
        measure: what their values are, in words; "" where it is the SQNR of the worst output that is kept.
    """
    return {
        **asdict(making),
        "target": report.target if report else "",
        "figures": figures.to_json() if figures else None,
        "sram_parts": figures.sram_parts if figures else "",
        "timing": _timing(times),
        "operators": _operators(report, times, comparison),
        "delegates": [_memory(delegate) for delegate in report.compiled] if report else [],
        "accuracy": _accuracy(comparison) if comparison else None,
        "search": _search(found) if found else None,
        "steps": _steps(kept, measure) if kept else None,
        "advice": [row.text for row in advice],
    }


def _timing(times: Sequence[DelegateTime]) -> dict[str, Any] | None:
    if not times:
        return None
    estimates = [time.estimate for time in times]
    return {
        "cycles": sum(estimate.cycles for estimate in estimates),
        "seconds": sum(estimate.seconds for estimate in estimates),
        "system": estimates[0].system,
        "compiler": estimates[0].compiler,
    }


def _operators(
    report: Report | None, times: Sequence[DelegateTime], comparison: Comparison | None
) -> list[dict[str, Any]]:
    """A row for each operator of the model, and one for other work of the device."""
    errors = {row.name: row for row in comparison.operators} if comparison else {}
    rows: list[dict[str, Any]] = []
    if report is not None:
        costs = _Costs(report.compiled, times)
        delegated = {row.node for row in report.delegated}
        for row in sorted([*report.delegated, *report.rejected], key=lambda row: row.position):
            rows.append({**_place(row, row.node in delegated), **costs.of(row.node)})
        if remainder := costs.rest():
            rows.append(
                {"node": OTHERS, "operator": "", "module": "", "source": "", "inputs": [], "cpu": False, **remainder}
            )
    by_node = {row["node"]: row for row in rows}
    for name, error in errors.items():
        if name not in by_node:
            place = {"operator": error.operator, "module": error.module, "source": source_text(error.source)}
            rows.append(by_node.setdefault(name, {"node": name, **place, "inputs": [], "cpu": False}))
        by_node[name] |= {
            "sqnr": _number(error.sqnr_db),
            "own_sqnr": _number(error.own_sqnr_db),
            "bits": error.bits,
            "saturated": error.saturated,
            "least": _number(error.range[0]),
            "greatest": _number(error.range[1]),
        }
    return rows


def _place(row: Row, delegated: bool) -> dict[str, Any]:
    place = {
        "node": row.node,
        "operator": row.target,
        "module": row.module,
        "source": source_text(row.source),
        "inputs": list(row.inputs),
        "classes": list(row.classes),
        "cpu": not delegated,
    }
    return place if delegated else {**place, "reason": row.reason, "fix": row.fix}


class _Costs:
    """Figures of layers and timing models, by the operator of the model."""

    def __init__(self, delegates: Sequence[CompiledDelegate], times: Sequence[DelegateTime]) -> None:
        self._rate = next((d.figures["macs_per_cycle"] for d in delegates if "macs_per_cycle" in d.figures), None)
        self._layers: dict[str, list[Layer]] = {}
        self._times: dict[str, list[OperatorTime]] = {}
        for delegate in delegates:
            for layer in delegate.layers:
                self._layers.setdefault(layer.node, []).append(layer)
        for time in times:
            for operator in time.estimate.operators:
                node = origin_of(time.names.get(operator.tensor)).node
                self._times.setdefault(node, []).append(operator)
        self._whole = sum(layer.cycles for layers in self._layers.values() for layer in layers)

    def of(self, node: str) -> dict[str, Any]:
        """The costs of an operator; asked for once."""
        return _costs(self._layers.pop(node, []), self._times.pop(node, []), self._whole, self._rate)

    def rest(self) -> dict[str, Any]:
        """The costs of all operators that ``of`` was not asked for; empty if there are none."""
        layers = [layer for group in self._layers.values() for layer in group]
        times = [time for group in self._times.values() for time in group]
        return _costs(layers, times, self._whole, self._rate)


def _costs(layers: Sequence[Layer], times: Sequence[OperatorTime], total: float, rate: float | None) -> dict[str, Any]:
    costs: dict[str, Any] = {}
    if layers:
        kinds = dict.fromkeys(layer.kind for layer in layers)
        count = {kind: sum(layer.kind == kind for layer in layers) for kind in kinds}
        cycles, macs = sum(layer.cycles for layer in layers), sum(layer.macs for layer in layers)
        costs = {
            "runs_as": ", ".join(kind if count[kind] == 1 else f"{count[kind]} × {kind}" for kind in kinds),
            "cycles": cycles,
            "share": cycles / total if total else 0.0,
            "utilisation": macs / (cycles * rate) if macs and cycles and rate else None,
            "bytes": sum(layer.bytes for layer in layers),
            "bound": max(layers, key=lambda layer: layer.cycles).bound,
        }
    if times:
        longest = max(times, key=lambda time: time.cycles)
        costs |= {"model_cycles": sum(time.cycles for time in times), "bound": longest.bound}
    return costs


def _memory(delegate: CompiledDelegate) -> dict[str, Any]:
    return {
        "in_memory": [_tensor(row) for row in delegate.in_memory],
        "at_peak": [_tensor(row) for row in delegate.at_peak],
    }


def _tensor(row: Live) -> dict[str, Any]:
    return {**asdict(row), "source": source_text(row.source)}


def source_text(source: str) -> str:
    """A line of the model, its file relative to this folder or to the installed packages where it lies in them."""
    file, colon, position = source.partition(":")
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    for packages in ("site-packages", "dist-packages"):
        if packages in path.parts:
            path = Path(*path.parts[path.parts.index(packages) + 1 :])
    return f"{path}{colon}{position}" if source else ""


def _accuracy(comparison: Comparison) -> dict[str, Any]:
    worst = [row for row in comparison.worst() if row.histogram and row.representable][:_HISTOGRAMS]
    return {
        "sqnr": _number(comparison.sqnr_db),
        "equal": comparison.equal,
        "metric": comparison.metric,
        "float_metric": comparison.float_metric,
        "samples": comparison.samples,
        "outputs": [
            {"name": output.name, "sqnr": _number(output.sqnr_db), "equal": output.equal}
            for output in comparison.outputs
        ],
        "histograms": [
            {
                "node": row.name,
                "sqnr": _number(row.sqnr_db),
                "counts": row.histogram,
                "range": row.histogram_range,
                "representable": row.representable,
            }
            for row in worst
        ],
    }


def _search(search: Search) -> dict[str, Any]:
    return {
        "figure": search.figure,
        "measure": search.measure,
        "most": _number(search.bounds.most),
        "least": _number(search.bounds.least),
        "points": [
            {
                "units": len(point.units),
                "value": _number(point.value),
                "cost": point.cost,
                "pareto": point.pareto,
                "chosen": point == search.chosen,
            }
            for point in search.points
        ],
        "groups": [
            [{"name": unit.name, "source": source_text(unit.source)} for unit in group] for group in search.groups
        ],
    }


def _steps(kept: Kept, measure: str) -> dict[str, Any]:
    least = kept.chosen.verdict.least
    return {
        "measure": measure,
        "least": least if measure else -10 * math.log10(1 - least),
        "float": kept.chosen.verdict.float_value if measure else None,
        "says": f"{kept.chosen.step}: {kept.chosen.verdict}",
        "rows": [
            {
                "step": attempt.step,
                "value": attempt.verdict.value,
                "sqnr": _number(attempt.sqnr_db),
                "cycles": (attempt.cost or {}).get("cycles"),
                "sram_kib": (attempt.cost or {}).get("sram_kib"),
                "chosen": attempt == kept.chosen,
            }
            for attempt in kept.attempts
        ],
    }


def _number(value: float | None) -> float | str | None:
    """JSON has no infinity: the page reads these words as numbers."""
    return value if value is None or math.isfinite(value) else "∞" if value > 0 else "−∞"
