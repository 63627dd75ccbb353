"""The tables of ``docs/benchmarks.md`` about cycles and SRAM on Ethos-U, and the time that the search takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from benchmarks.documents import table
from benchmarks.figures import Case, Figures, Pair, mean_ratio

_BENCHMARK = "ethosu_peers"
OTHERS = {"rival": "rival", "litert": "LiteRT"}
#: From what on a ratio is above: what the tables show as 1.00 is equal.
_ABOVE = 1.005
_METRICS = ("cycles", "sram_kib")
_Seconds = tuple[float, float]  # CPU, wall


def by_accelerator(figures: Figures) -> str:
    """Geometric means over networks that neither side leaves a part of, a line per accelerator."""
    heads = ["accelerator", "networks", "cycles / rival's", "SRAM / rival's", "deep: cycles / rival's"]
    heads += ["networks", "cycles / LiteRT's", "SRAM / LiteRT's"]
    targets = list(dict.fromkeys(case["target"] for case in figures.cases(_BENCHMARK)))
    groups = {target.removeprefix("ethos-").upper(): [target] for target in sorted(targets, key=_order)}
    groups |= {f"all of {f.upper()}": [t for t in targets if f in t] for f in ("u55", "u65", "u85")}
    return table(heads, [[name, *_means(figures, group)] for name, group in groups.items()])


def _order(target: str) -> tuple[str, int]:
    _, family, macs = target.split("-")
    return family, int(macs)


def _means(figures: Figures, targets: Sequence[str]) -> list[str]:
    cases = [case for case in figures.cases(_BENCHMARK) if case["target"] in targets]
    cells = []
    for other in OTHERS:
        whole = [case for case in cases if _is_whole(figures, case, other)]
        cells += [
            str(len(whole)),
            *(mean_ratio([_pair(figures, case, metric, other) for case in whole]) for metric in _METRICS),
        ]
        if other == "rival":
            cells.append(mean_ratio([_pair(figures, case, "cycles", other, "deep") for case in whole]))
    return cells


def above(figures: Figures) -> str:
    """Where this project takes more cycles or SRAM, a line per network, accelerator and other side."""
    heads = [
        "network",
        "accelerator",
        "beside",
        "cycles: ours / theirs",
        "SRAM, KiB: ours / theirs",
        "left: ours / theirs",
    ]
    lines = []
    for case, other in _compared(figures):
        pairs = [_pair(figures, case, metric, other) for metric in _METRICS]
        if any(pair.ratio and pair.ratio >= _ABOVE for pair in pairs):
            left = _pair(figures, case, "left", other)
            target = case["target"].removeprefix("ethos-").upper()
            cells = [_shown(pairs[0], "{:,.0f}"), _shown(pairs[1], "{:,.1f}"), _shown(left, "{:.0f}").split(" (")[0]]
            lines.append([case["network"], target, OTHERS[other], *cells])
    return table(heads, lines)


def search_times(figures: Figures) -> str:
    """CPU and wall seconds of lowering with and without the search for SRAM, a line per network and accelerator."""
    heads = ["network", "accelerator", "no search", "search", "again", "budget", "search within it", "again"]
    timed = [case for case in figures.cases("sram") if figures.figure("sram", case, "vela", "first_cpu_s")]
    within = {(case["network"], case["target"]): case for case in timed if "budget" in case}
    lines, ratios = [], [_Ratios() for _ in range(4)]
    for case in (case for case in timed if "budget" not in case):
        key = case["network"], case["target"]
        own = _seconds(figures, case, "vela", "later")
        times = [_seconds(figures, c, "ours", kind) for c in (case, within[key]) for kind in ("first", "later")]
        cells = [each.cell(own, found) for each, found in zip(ratios, times, strict=True)]
        cells.insert(2, within[key]["budget"])
        lines.append([key[0], key[1].removeprefix("ethos-").upper(), ", ".join(f"{s:.2f}" for s in own or ()), *cells])
    means = [each.means() for each in ratios]
    return table(heads, [*lines, ["all, geometric mean", "", "", *means[:2], "", *means[2:]]])


class _Ratios:
    """The ratios of CPU and wall seconds to those without the search, of one column."""

    def __init__(self) -> None:
        self._ratios: list[tuple[float, float]] = []

    def cell(self, own: _Seconds | None, found: _Seconds | None) -> str:
        if own is None or found is None:
            return "does not fit"
        self._ratios.append((found[0] / own[0], found[1] / own[1]))
        return ", ".join(f"{value:.2f} ({ratio:.2f})" for value, ratio in zip(found, self._ratios[-1], strict=True))

    def means(self) -> str:
        return ", ".join(f"{geometric_mean(column):.2f}" for column in zip(*self._ratios, strict=True))


def _seconds(figures: Figures, case: Case, side: str, kind: str) -> _Seconds | None:
    cpu, wall = (figures.figure("sram", case, side, f"{kind}_{clock}_s") for clock in ("cpu", "wall"))
    return (cpu.value, wall.value) if cpu and wall else None


def _compared(figures: Figures) -> Iterator[tuple[Case, str]]:
    for case in figures.cases(_BENCHMARK):
        for other in OTHERS:
            yield case, other


def _is_whole(figures: Figures, case: Case, other: str) -> bool:
    left = _pair(figures, case, "left", other)
    return left.ours is not None and left.other is not None and left.ours.value == left.other.value == 0


def _pair(figures: Figures, case: Case, metric: str, other: str, ours: str = "ours") -> Pair:
    return Pair(*(figures.figure(_BENCHMARK, case, side, metric) for side in (ours, other)))


def _shown(pair: Pair, form: str) -> str:
    if pair.ours is None or pair.other is None:
        return "–"
    both = f"{form.format(pair.ours.value)} / {form.format(pair.other.value)}"
    return both if pair.ratio is None else f"{both} ({pair.ratio:.2f})"
