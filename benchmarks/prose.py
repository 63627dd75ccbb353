"""Figures inside the sentences of pages, from measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

from benchmarks import kept_tables, peers_tables, timing_tables
from benchmarks.documents import table
from benchmarks.figures import Case, Figures
from benchmarks.published_cycles import PUBLISHED
from benchmarks.results import ROOT
from benchmarks.rival_suite import report as rival_suite

_DOCS = ROOT / "docs"


def between(values: Iterable[float], decimals: int) -> str:
    """The least and the largest, as ``1.2 to 3.4``; a dash where there is none."""
    least, *_, most = sorted([*values] or [0.0]) * 2
    return f"{least:,.{decimals}f} to {most:,.{decimals}f}" if least or most else "–"


def _middle(values: Sequence[float]) -> str:
    return f"{median(values):.1f}" if values else "–"


def _value(figures: Figures, benchmark: str, case: Case, metric: str) -> float:
    """0 where it was not measured."""
    found = figures.figure(benchmark, case, "ours", metric)
    return 0.0 if found is None else found.value


def _all(figures: Figures, benchmark: str, metric: str) -> list[float]:
    """A figure of ours of each case that has it."""
    found = [figures.figure(benchmark, case, "ours", metric) for case in figures.cases(benchmark)]
    return [figure.value for figure in found if figure is not None]


def _others_deeplab(figures: Figures) -> str:
    ratios = [
        1 / ratio
        for case in figures.cases("ethosu_peers")
        if case["network"] == "deeplab_v3"
        for other in peers_tables.OTHERS
        if (ratio := figures.pair("ethosu_peers", case, "cycles", other).ratio)
    ]
    return f"{between(ratios, 0)} times"


def _float_weights(figures: Figures) -> str:
    return f"{max(_all(figures, 'llm_large', 'weights_mib'), default=0):,.0f} MiB"


def _pytorch_alone(figures: Figures) -> str:
    return f"{max(_all(figures, 'llm_large', 'base_mib'), default=0):,.0f} MiB"


def _by_target(column: int) -> Callable[[Figures], str]:
    """The last line of the timing model's table, one of its columns, target by target."""

    def text(figures: Figures) -> str:
        found = []
        for target in timing_tables.TARGETS:
            layers, alone, whole = timing_tables.sums(figures, target)
            error, _, worst = layers.removesuffix(")").partition(" (")
            found.append(f"{(error, worst, alone, whole)[column]} on {target.removeprefix('ethos-').upper()}")
        return f"{', '.join(found[:-1])} and {found[-1]}"

    return text


def _beside_published(metric: str) -> Callable[[Figures], str]:
    """By how much the FVPs' figures are exceeded, in per cent."""

    def text(figures: Figures) -> str:
        ratios = []
        for row in PUBLISHED:
            case = {"network": row.network, "target": row.target, "memory_mode": row.memory_mode or "default"}
            found = _value(figures, "timing", {**case, "input": "channels last"}, metric)
            if found and row.cycles:
                ratios.append(100 * (found / row.cycles - 1))
        return f"{between(ratios, 0)} %"

    return text


def _commands_of_deep(figures: Figures) -> str:
    grown = [
        _value(figures, "ethosu_schedules", case, "commands_deep")
        - _value(figures, "ethosu_schedules", case, "commands_vela")
        for case in figures.cases("ethosu_schedules")
    ]
    return f"{max(grown, default=0) / 1000:.0f} KB"


def _time_of_deep(figures: Figures) -> str:
    ratios = [
        _value(figures, "ethosu_schedules", case, "compile_deep_s") / ours
        for case in figures.cases("ethosu_schedules")
        if (ours := _value(figures, "ethosu_schedules", case, "compile_vela_s"))
    ]
    return f"{between(ratios, 0)} times as long (the median is {_middle(ratios)})"


def _recorded(figures: Figures) -> str:
    return f"{between(_all(figures, 'vgf_frames', 'record_us'), 0)} µs"


def _replayed(figures: Figures) -> str:
    return f"{between(_all(figures, 'vgf_frames', 'replay_us'), 1)} µs"


def _many_frames(metric: str, unit: str) -> Callable[[Figures], str]:
    """A figure of memory in many frames, in MiB or KiB."""
    times = {"MiB": 1, "KiB": 1024}[unit]
    return lambda figures: f"{max(_all(figures, 'vgf_frame_memory', metric), default=0) * times:,.0f} {unit}"


def _wide(figures: Figures) -> list[float]:
    """Cycles of int16x8 by those of int8, of trained networks."""
    narrow = [case for case in figures.cases("real") if case.get("scheme") == "int8"]
    pairs = [(_value(figures, "real", {**case, "scheme": "a16w8"}, "cycles"),
              _value(figures, "real", case, "cycles")) for case in narrow]  # fmt: skip
    return [wide / each for wide, each in pairs if wide and each]


def _cycles_of_wide(figures: Figures) -> str:
    return f"{between(_wide(figures), 1)} times"


def _median_of_wide(figures: Figures) -> str:
    return _middle(_wide(figures))


def _agreed(network: str, scheme: str) -> Callable[[Figures], str]:
    case = {"network": network, "target": "ethos-u55-128", "scheme": scheme}
    return lambda figures: f"{_value(figures, 'real', case, 'agree'):.1f} %"


def _commits(figures: Figures) -> str:
    """The commits of the newest rows of trained networks, the most frequent first."""
    found = [figures.figure("real", case, "ours", "agree") for case in figures.cases("real")]
    counts = Counter(figure.commit for figure in found if figure is not None)
    return ", ".join(f"`{commit}`" for commit, _ in counts.most_common())


def _slower_on_the_host(side: str, ours_first: bool) -> Callable[[Figures], str]:
    """Times of CPU of our engine and another side, for the network that both ran."""

    def text(figures: Figures) -> str:
        ratios = []
        for case in figures.cases("vgf_host"):
            ours, other = (figures.figure("vgf_host", case, each, "cpu_ms") for each in ("ours", side))
            if ours is not None and other is not None and ours.date == other.date:
                ratios.append(ours.value / other.value if ours_first else other.value / ours.value)
        return f"{max(ratios, default=0):.0f} times"

    return text


def costs_of_steps(figures: Figures) -> str:
    """Instructions as estimated by those that were counted, a line per core and scheme."""
    judges = ("autoencoder", "ds_cnn", "mobilenet_v1_025", "resnet8")
    lines = []
    for scheme in ("int8", "int16x8"):
        for core in ("cortex-m55", "cortex-m4"):
            cells, worst = [], 0.0
            for network in judges:
                case = {"core": core, "network": network, "scheme": scheme}
                counted, said = (_value(figures, "cortex_m_costs", case, name) for name in ("instructions", "estimate"))
                worst = max(worst, _value(figures, "cortex_m_costs", case, "greatest_error_of_a_step"))
                cells += [f"{said / counted:.2f}", f"{counted / 1e6:.2f}"] if counted else ["–", "–"]
            lines.append([f"{core.replace('cortex-m', 'Cortex-M')}, {scheme}", *cells, f"{100 * worst:.0f} % off"])
    heads = ["core", *(f"{name}, {what}" for name in judges for what in ("ratio", "millions"))]
    return table([*heads, "a large step, at most"], lines)


def behind_the_rival(figures: Figures) -> str:
    """Trained networks of which int8 keeps fewer decisions, or has a worse output, than the rival's."""
    lines = []
    for network in dict.fromkeys(case["network"] for case in figures.cases("real")):
        case = {"network": network, "target": "ethos-u55-128", "scheme": "int8"}
        agree, worst = (figures.pair("real", case, metric) for metric in ("agree", "worst_db"))
        lost = [
            each.ours is not None and each.other is not None and each.ours.value < each.other.value - least
            for each, least in ((agree, 0.005), (worst, 0.05))
        ]
        if any(lost):
            cells = [f"{each.ours.value:.{d}f} / {each.other.value:.{d}f}" if each.ours and each.other else "–"
                     for each, d in ((agree, 2), (worst, 1))]  # fmt: skip
            lines.append([network, *cells])
    return table(["network", "as in float, %: ours / rival's", "worst output, dB: ours / rival's"], lines)


def _devices(figures: Figures) -> str:
    """How the rival's tests for devices ended here."""
    records, _ = rival_suite.read(ROOT / "benchmarks" / "rival_suite" / "devices.jsonl")
    counts = Counter(record.outcome for record in records.values() if record.side == "ours")
    return f"{counts['passed']:,} pass, {counts['failed']:,} fail and {counts['left out']:,} are left out"


def _wheels(metric: str, *packages: str) -> Callable[[Figures], str]:
    """The sum of some packages."""
    cases = [{"package": name, "platform": "x86_64" if name == "arm-runtime-cpp" else "any"} for name in packages]
    return lambda figures: f"{sum(_value(figures, 'wheel_sizes', case, metric) for case in cases) / 1e6:.1f} MB"


#: The words inside sentences, by page and name.
SPANS: dict[Path, dict[str, Callable[[Figures], str]]] = {
    _DOCS / "benchmarks.md": {
        "deeplab": _others_deeplab,
        "float-weights": _float_weights,
        "pytorch-alone": _pytorch_alone,
        "frames-process": _many_frames("process_mib", "MiB"),
        "frames-process-grown": _many_frames("process_grown_mib", "KiB"),
        "frames-held": _many_frames("held_mib", "KiB"),
        "frames-held-grown": _many_frames("held_grown_mib", "KiB"),
    },
    _DOCS / "trained-networks.md": {
        "wide": _cycles_of_wide,
        "wide-median": _median_of_wide,
        "magika": _agreed("magika", "a16w8"),
        "commits": _commits,
        **kept_tables.SPANS,
    },
    _DOCS / "explanation" / "ethosu-timing.md": {
        "layers": _by_target(0),
        "worst-layers": _by_target(1),
        "whole": _by_target(3),
        "fvp": _beside_published("cycles"),
        "fvp-vela": _beside_published("vela_cycles"),
    },
    _DOCS / "explanation" / "ethosu-schedules.md": {"commands": _commands_of_deep, "time": _time_of_deep},
    _DOCS / "explanation" / "vgf-runtime.md": {
        "layer": _slower_on_the_host("layer", ours_first=False),
        "xnnpack": _slower_on_the_host("xnnpack", ours_first=True),
    },
    _DOCS / "how-to" / "keep-accuracy.md": {"wide": _cycles_of_wide},
    _DOCS / "how-to" / "install.md": {
        "wheel": _wheels("bytes", "arm-runtime-cpp"),
        "installed": _wheels("installed_bytes", "arm-runtime-cpp"),
        "to-run": _wheels("bytes", "arm-runtime-cpp", "arm-tosa-core", "arm-vgf"),
    },
    _DOCS / "how-to" / "vgf-in-your-renderer.md": {"record": _recorded, "replay": _replayed},
    _DOCS / "reference" / "compatibility.md": {"devices": _devices},
}
