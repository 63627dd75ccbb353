"""The tables of ``docs/benchmarks.md`` about the timing model of Ethos-U."""

from __future__ import annotations

import math

from benchmarks.documents import table
from benchmarks.figures import Case, Figures
from benchmarks.published_cycles import PUBLISHED

TARGETS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256")


def beside_vela(figures: Figures) -> str:
    """Errors of layers and of the whole against Vela's estimate, a line per network."""
    names = _names(figures)
    heads = ["network"]
    for target in TARGETS:
        short = target.removeprefix("ethos-").upper()
        heads += [f"{short}: layers, mean (worst)", "all layers", "whole"]
    lines = [[name, *(cell for target in TARGETS for cell in _cells(figures, name, target))] for name in names]
    lines.append(["all", *(cell for target in TARGETS for cell in sums(figures, target))])
    return table(heads, lines)


def _cells(figures: Figures, name: str, target: str) -> tuple[str, str, str]:
    case = {"network": name, "target": target}
    error, worst = _value(figures, case, "layer_error"), _value(figures, case, "worst_ratio")
    if error is None or worst is None:
        return "–", "–", "–"
    alone = _ratio(figures, case, "rated_alone_cycles", "vela_rated_cycles")
    return f"{100 * error:.1f} % ({worst:.2f})", f"{alone:.2f}", f"{_ratio(figures, case, 'cycles', 'vela_cycles'):.2f}"


def _names(figures: Figures) -> list[str]:
    return list(dict.fromkeys(case["network"] for case in figures.cases("timing") if "memory_mode" not in case))


def sums(figures: Figures, target: str) -> tuple[str, str, str]:
    """Geometric means: of layers over all layers of all networks (and the worst one), of networks over networks."""
    cases = [
        case for name in _names(figures) if _value(figures, case := {"network": name, "target": target}, "layer_error")
    ]
    layers, logs, worst = 0.0, 0.0, 1.0
    for case in cases:
        count = _value(figures, case, "layers") or 0.0
        layers, logs = layers + count, logs + count * math.log1p(_value(figures, case, "layer_error") or 0.0)
        worst = max(worst, _value(figures, case, "worst_ratio") or 1.0, key=lambda ratio: abs(math.log(ratio)))
    if not cases:
        return "–", "–", "–"
    alone, whole = (
        math.exp(sum(math.log(_ratio(figures, case, *pair)) for case in cases) / len(cases))
        for pair in (("rated_alone_cycles", "vela_rated_cycles"), ("cycles", "vela_cycles"))
    )
    return f"{100 * math.expm1(logs / layers):.1f} % ({worst:.2f})", f"{alone:.2f}", f"{whole:.2f}"


def published(figures: Figures) -> str:
    """Cycles that others have published, and what Vela and the model say of the same network."""
    lines = []
    for row in PUBLISHED:
        case = {"network": row.network, "target": row.target, "memory_mode": row.memory_mode or "default"}
        vela, ours = (_value(figures, {**case, "input": "channels last"}, name) for name in ("vela_cycles", "cycles"))
        shown = [f"{row.cycles:,}" if row.cycles else "–"]
        for value in (vela, ours):
            shown.append("–" if value is None else f"{value:,.0f} ({value / row.cycles:.2f})")
        source = f"<{row.source}>" if row.source.startswith("http") else row.source
        lines.append([row.what, row.target.removeprefix("ethos-").upper() or "–", *shown, source])
    return table(["network", "accelerator", "published", "Vela 5.2", "timing model", "source"], lines)


def _value(figures: Figures, case: Case, metric: str) -> float | None:
    figure = figures.figure("timing", case, "ours", metric)
    return None if figure is None else figure.value


def _ratio(figures: Figures, case: Case, ours: str, theirs: str) -> float:
    return (_value(figures, case, ours) or 0.0) / (_value(figures, case, theirs) or math.inf)
