"""The tables of ``docs/benchmarks.md`` about ``.tflite`` files."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.documents import table
from benchmarks.figures import Case, Figures, Pair, mean_ratio

_BENCHMARK = "tflite_files"
_METRICS = ("cycles", "sram_kib")


def means(figures: Figures) -> str:
    """Geometric means of ours by Vela's, a line per accelerator."""
    heads = ["accelerator", "files", "cycles", "SRAM", "files timed", "CPU time", "again"]
    lines = []
    for target in _targets(figures):
        cases = [case for case in figures.cases(_BENCHMARK) if case["target"] == target]
        pairs = [[_pair(figures, case, metric) for case in cases] for metric in _METRICS]
        count = sum(pair.ratio is not None for pair in pairs[0])
        times = [[_cpu_pair(figures, case, metric) for case in cases] for metric in ("process_cpu_s", "again_cpu_s")]
        timed = str(sum(pair.ratio is not None for pair in times[0]))
        name = target.removeprefix("ethos-").upper()
        lines.append([name, str(count), *map(mean_ratio, pairs), timed, *map(mean_ratio, times)])
    return table(heads, lines)


def by_file(figures: Figures) -> str:
    """Cycles of ours by Vela's, operators left by both, and how far outputs are from LiteRT's, a line per file."""
    targets = _targets(figures)
    heads = ["file", *(f"{target.removeprefix('ethos-').upper()}: cycles" for target in targets), "left", "outputs"]
    lines = []
    for file in dict.fromkeys(case["file"] for case in figures.cases(_BENCHMARK)):
        cases = [{"file": file, "target": target} for target in targets]
        left = _pair(figures, cases[0], "left")
        both = "–" if left.ours is None or left.other is None else f"{left.ours.value:.0f} / {left.other.value:.0f}"
        cycles = [_shown(_pair(figures, case, "cycles")) for case in cases]
        lines.append([f"`{file}`", *cycles, both, _outputs(figures, cases)])
    return table(heads, lines)


def _targets(figures: Figures) -> list[str]:
    return list(dict.fromkeys(case["target"] for case in figures.cases(_BENCHMARK)))


def _pair(figures: Figures, case: Case, metric: str) -> Pair:
    return figures.pair(_BENCHMARK, case, metric, "vela")


def _cpu_pair(figures: Figures, case: Case, metric: str) -> Pair:
    ours, other = (figures.figure("tflite_cpu", case, *of) for of in (("ours", metric), ("vela", "process_cpu_s")))
    return Pair(ours, other)


def _outputs(figures: Figures, cases: Sequence[Case]) -> str:
    """The largest difference of all accelerators."""
    steps = [f for case in cases if (f := figures.figure(_BENCHMARK, case, "ours", "steps"))]
    errors = [f for case in cases if (f := figures.figure(_BENCHMARK, case, "ours", "error_of_outputs"))]
    if steps:
        return f"{max(f.value for f in steps):.0f} steps"
    return f"{max(f.value for f in errors):.4f}" if errors else "–"


def _shown(pair: Pair) -> str:
    if pair.ours is None or pair.other is None:
        return "–"
    return f"{pair.ours.value:,.0f} / {pair.other.value:,.0f} ({pair.ours.value / pair.other.value:.2f})"
