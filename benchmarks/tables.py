"""The tables of ``docs/benchmarks.md``, and the sentences of means above them, from measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, geometric_mean

from benchmarks.figures import Figure, Figures, Pair

U55, U85 = "ethos-u55-128", "ethos-u85-256"
#: Networks as large as their papers have them, from a registry beside ``tests/models``.
PUBLISHED = "published_sizes"
_OTHER_DAY = "†"


def compile_time(figures: Figures) -> str:
    """CPU seconds and memory of the compiler, a line per network."""
    heads = [
        "network",
        "U55-128, CPU s",
        "U85-256, CPU s",
        "VGF float, CPU s",
        "U55-128, fast flow, CPU s",
        "peak, MiB",
    ]
    lines = []
    for name in _networks(figures):
        pairs = [figures.pair("lowering", _case(name, target), "lower_s") for target in (U55, U85, "vgf-fp")]
        fast = figures.pair("flow", _case(name, U55), "lower_s")
        peak = figures.pair("lowering", _case(name, U55), "peak_rss_mib")
        lines.append([name, *(_seconds(pair) for pair in (*pairs, fast)), _compared(peak, 0)])
    return _table(heads, lines)


def delegation(figures: Figures) -> str:
    """What is left on the CPU, cycles and SRAM, a line per network."""
    heads = ["network"]
    heads += [f"{device}: {what}" for device in ("U55-128", "U85-256") for what in ("left", "cycles, M", "SRAM, KiB")]
    lines = []
    for name in _networks(figures):
        cells = [name]
        for target in (U55, U85):
            left, cycles, sram = (
                figures.pair("lowering", _case(name, target), metric) for metric in ("left", "cycles", "sram_kib")
            )
            cells += [_both(left, 0), _compared(cycles, 3, 1e6), _both(sram, 0)]
        lines.append(cells)
    return _table(heads, lines)


def accuracy(figures: Figures) -> str:
    """SQNR in int8 beside the rival, and of our a16w8 and float, a line per network."""
    heads = ["network", "int8, PT2E", "int8, one sample", "a16w8, compiled / eager", "float, error of largest"]
    lines = []
    tested = list(dict.fromkeys([*_networks(figures), *figures.networks("schemes")]))
    for name, registry in [
        *((n, None) for n in tested),
        *((n, PUBLISHED) for n in figures.networks("accuracy", PUBLISHED)),
    ]:
        case = {"network": name} | ({"registry": registry} if registry else {})
        lines.append(
            [
                name + (" (published size)" if registry else ""),
                _both(sqnr(figures, name) if registry is None else Pair(None, None), 1),
                _both(figures.pair("accuracy", case, "others_db"), 1),
                _scheme(figures, name, "int16") if registry is None else "–",
                _scheme(figures, name, "fp32") if registry is None else "–",
            ]
        )
    return _table(heads, lines)


def sqnr(figures: Figures, network: str) -> Pair:
    """SQNR of int8 with PT2E's own flow; the target makes no difference beyond which operators it quantizes."""
    pairs = [figures.pair("lowering", _case(network, target), "sqnr_db") for target in (U55, "tosa-int", U85)]
    return next((pair for pair in pairs if pair.ours), Pair(None, None))


def run_time(figures: Figures) -> str:
    """Inference with our runtime, beside what else runs the same file."""
    heads = [
        "runtime",
        "network",
        "inference, ms: ours / other (ratio)",
        "load, ms: first / later",
        "machine",
        "measured",
    ]
    lines = []
    for benchmark, other, what, metric, factor in (
        ("vgf", "scenario_runner", "VGF, beside scenario_runner", "latency_ms", 1.0),
        ("vgf_networks", "", "VGF, CPU time", "", 1.0),
        ("ethosu_model", "reference_model", "Ethos-U functional model, beside the TOSA reference model", "wall_s", 1e3),
    ):
        for case in figures.cases(benchmark):
            pair = figures.pair(benchmark, case, metric, other)
            loads = [
                figures.figure(benchmark, case, "ours", f"load_{which}_ms") for which in ("first", "second_process")
            ]
            measured = pair.ours or loads[0]
            lines.append(
                [
                    what,
                    ", ".join(case.values()),
                    _compared(pair, 2, 1 / factor) if metric else "–",
                    " / ".join(_shown(figure, 0) for figure in loads) if any(loads) else "–",
                    figures.machine(benchmark, case, "ours"),
                    f"{measured.day}, `{measured.commit}`" if measured else "–",
                ]
            )
    return _table(heads, lines)


def means(figures: Figures) -> str:
    """Ours to the rival's over networks, growth with depth, and what imports cost, as a list."""
    lines = []
    for target, device in ((U55, "Ethos-U55-128"), (U85, "Ethos-U85-256")):
        found = {}
        for metric in ("lower_s", "backend_s", "cycles", "sram_kib"):
            pairs = [figures.pair("lowering", _case(name, target), metric) for name in _networks(figures)]
            found[metric] = [pair.ratio for pair in pairs if pair.ratio]
        lines.append(
            f"- {device}, ours to the rival's, geometric mean of the networks that have both: lowering time "
            f"{_mean(found['lower_s'])}, of it without Vela and ExecuTorch {_mean(found['backend_s'])}, "
            f"cycles {_mean(found['cycles'])}, SRAM {_mean(found['sram_kib'])}."
        )
    for text, pairs in (
        ("int8 with PT2E's own flow", [sqnr(figures, name) for name in _networks(figures)]),
        ("int8, one sample, each at its best", _best(figures)),
    ):
        gains = [pair.ours.value - pair.other.value for pair in pairs if pair.ours and pair.other]
        if gains:
            lines.append(
                f"- SQNR, {text}: {fmean(gains):+.1f} dB beside the rival in the mean of {len(gains)} networks "
                f"({min(gains):+.1f} to {max(gains):+.1f})."
            )
    return "\n".join([*lines, *_depth(figures), *_imports(figures)])


def _best(figures: Figures) -> list[Pair]:
    cases = figures.cases("accuracy")
    return [figures.pair("accuracy", case, "others_db") for case in cases]


def _depth(figures: Figures) -> list[str]:
    stacks = [name for name in figures.networks("lowering") if name.startswith("stack-")]
    rows = []
    for name in sorted(stacks, key=lambda name: int(name.removeprefix("stack-"))):
        pair = figures.pair("lowering", _case(name, "tosa-int"), "backend_s")
        rows.append(f"{name.removeprefix('stack-')} blocks {_both(pair, 2)}")
    return [
        f"- CPU seconds of the backend alone against depth, equal MobileNetV2 blocks, ours / rival: {'; '.join(rows)}."
    ] * bool(rows)


def _imports(figures: Figures) -> list[str]:
    found = []
    for case in figures.cases("lowering"):
        for side in ("ours", "rival"):
            figure = figures.figure("lowering", case, side, "import_s")
            if figure:
                found.append(f"`{case['statement']}` {figure.value:.2f}")
    return [f"- Imports, CPU seconds beyond `import executorch.exir`: {'; '.join(found)}."] * bool(found)


def _mean(ratios: Sequence[float]) -> str:
    return f"{geometric_mean(ratios):.2f} ({len(ratios)} networks)" if ratios else "not measured"


def _networks(figures: Figures) -> list[str]:
    return [name for name in figures.networks("lowering") if not name.startswith("stack-")]


def _case(network: str, target: str) -> dict[str, str]:
    return {"network": network, "target": target}


def _scheme(figures: Figures, network: str, scheme: str) -> str:
    """A scheme's worst figure over the targets."""
    metric = "error_of_largest" if scheme == "fp32" else "sqnr_db"
    found = []
    for case in figures.cases("schemes"):
        if (case["network"], case["scheme"]) == (network, scheme):
            figure = figures.figure("schemes", case, "ours", metric)
            eager = figures.figure("schemes", case, "ours", "eager_db")
            if figure:
                found.append((figure, eager))
    if not found:
        return "–"
    newest = max(figure.date for figure, _ in found)
    run = [(figure, eager) for figure, eager in found if figure.date == newest]
    if scheme == "fp32":
        return f"{max(figure.value for figure, _ in run):.0e}"
    worst, eager = min(run, key=lambda pair: pair[0].value - (pair[1].value if pair[1] else 0))
    return f"{_shown(worst, 1)} / {_shown(eager, 1)}"


def _shown(figure: Figure | None, decimals: int, divisor: float = 1.0) -> str:
    return "–" if figure is None else f"{figure.value / divisor:.{decimals}f}"


def _both(pair: Pair, decimals: int, divisor: float = 1.0) -> str:
    if pair.ours is None and pair.other is None:
        return "–"
    return f"{_shown(pair.ours, decimals, divisor)} / {_shown(pair.other, decimals, divisor)}"


def _compared(pair: Pair, decimals: int, divisor: float = 1.0) -> str:
    ratio = f" ({pair.ratio:.2f})" if pair.ratio is not None else ""
    return _both(pair, decimals, divisor) + ratio


def _seconds(pair: Pair) -> str:
    return _compared(pair, 1) + ("" if pair.same_day else f" {_OTHER_DAY}")


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


#: The blocks of the page by name.
BLOCKS: dict[str, Callable[[Figures], str]] = {
    "means": means,
    "compile-time": compile_time,
    "delegation": delegation,
    "accuracy": accuracy,
    "run-time": run_time,
}
