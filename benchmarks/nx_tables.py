"""The table of ``docs/benchmarks.md`` about Arm's estimator of the neural accelerator, from measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from benchmarks.documents import table
from benchmarks.figures import Case, Figures, Pair

_BENCHMARK = "nx"
_HEADS = (
    "network",
    "cycles, float edges",
    "cycles, integer edges",
    "DRAM footprint, float edges",
    "DRAM footprint, integer edges",
    "float operators, MB: ours / rival",
    "left: ours / rival",
)
_EDGES = ("float", "integer")
_RATIOS = tuple((metric, edges) for metric in ("cycles", "dram_footprint_bytes") for edges in _EDGES)
_HELD_OUT = "held out"
#: The system of the table, by the name of its description: the tool's default.
_SYSTEM = "system-config-neural-technology-default"


def by_network(figures: Figures) -> str:
    """Ratios, ours to the rival's, a line per network, then means; then what failed."""
    networks = [case for case in figures.cases(_BENCHMARK) if case["edges"] == "float" and case["system"] == _SYSTEM]
    lines = [_line(figures, case) for case in networks]
    judging = [case for case in networks if case["part"] == _HELD_OUT]
    lines.append(_means(figures, "all, geometric mean", networks))
    lines.append(_means(figures, "held out, geometric mean", judging))
    return "\n\n".join([table(_HEADS, lines), "\n".join(_failures(figures))]).strip()


def _line(figures: Figures, case: Case) -> list[str]:
    name = f"{case['network']} (held out)" if case["part"] == _HELD_OUT else case["network"]
    ratios = [_pair(figures, case, metric, edges).ratio for metric, edges in _RATIOS]
    moved, left = (_pair(figures, case, metric, "float") for metric in ("float_bytes", "left"))
    return [name, *map(_ratio, ratios), _both(moved, "{:.2f}", 1e6), _both(left, "{:.0f}")]


def _means(figures: Figures, name: str, cases: Sequence[Case]) -> list[str]:
    """Of the networks that both sides delegate whole."""
    cells = []
    for metric, edges in _RATIOS:
        whole = [_pair(figures, case, metric, edges).ratio for case in cases if _is_whole(figures, case, edges)]
        ratios = [ratio for ratio in whole if ratio]
        cells.append(f"{geometric_mean(ratios):.3f} ({len(ratios)})" if ratios else "–")
    return [name, *cells, "", ""]


def _is_whole(figures: Figures, case: Case, edges: str) -> bool:
    left = _pair(figures, case, "left", edges)
    return left.ours is not None and left.other is not None and left.ours.value == left.other.value == 0


def _failures(figures: Figures) -> Iterator[str]:
    for case in [case for case in figures.cases(_BENCHMARK) if case["system"] == _SYSTEM]:
        for side in ("ours", "rival"):
            if error := figures.error(_BENCHMARK, case, side):
                yield f"- {case['network']}, {side}, {case['edges']} edges: {error}"


def _pair(figures: Figures, case: Case, metric: str, edges: str) -> Pair:
    return figures.pair(_BENCHMARK, {**case, "edges": edges}, metric)


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.3f}"


def _both(pair: Pair, form: str, divisor: float = 1.0) -> str:
    return " / ".join(
        "–" if figure is None else form.format(figure.value / divisor) for figure in (pair.ours, pair.other)
    )
