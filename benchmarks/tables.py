"""The tables of ``docs/benchmarks.md``, and the sentences of means above them, from measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from benchmarks import (
    cortex_m_tables,
    firmware_tables,
    llm_tables,
    nx_tables,
    peers_tables,
    tflite_tables,
    timing_tables,
)
from benchmarks.documents import table
from benchmarks.figures import Case, Figure, Figures, Pair, shown

U55, U85 = "ethos-u55-128", "ethos-u85-256"
_OTHER_DAY = "†"


@dataclass(frozen=True)
class Network:
    """A network of a registry; None: of ``tests/models``."""

    name: str
    registry: str | None = None

    @property
    def label(self) -> str:
        """What a line of a table is called."""
        return self.name if self.registry is None else f"{self.name} ({self.registry.replace('_', ' ')})"

    def case(self, **more: str) -> dict[str, str]:
        """The case of a benchmark."""
        return {"network": self.name, **({"registry": self.registry} if self.registry else {}), **more}


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
    for network in networks(figures, "lowering", "flow"):
        on = [network.case(target=target) for target in (U55, U85, "vgf-fp")]
        pairs = [figures.pair("lowering", case, "lower_s") for case in on]
        fast = figures.pair("flow", on[0], "lower_s")
        peak = figures.pair("lowering", on[0], "peak_rss_mib")
        lines.append([network.label, *(_seconds(pair) for pair in (*pairs, fast)), _compared(peak, 0)])
    return table(heads, lines)


def delegation(figures: Figures) -> str:
    """What is left on the CPU, cycles and SRAM, a line per network."""
    heads = ["network"]
    heads += [f"{device}: {what}" for device in ("U55-128", "U85-256") for what in ("left", "cycles, M", "SRAM, KiB")]
    lines = []
    for network in networks(figures):
        cells = [network.label]
        for target in (U55, U85):
            case = network.case(target=target)
            left, cycles, sram = (figures.pair("lowering", case, metric) for metric in ("left", "cycles", "sram_kib"))
            cells += [_both(left, 0), _compared(cycles, 3, 1e6), _both(sram, 0)]
        lines.append(cells)
    return table(heads, lines)


def accuracy(figures: Figures) -> str:
    """SQNR in int8 beside the rival, and of our int16x8 and float, a line per network."""
    heads = ["network", "int8, PT2E", "int8, one sample", "int16x8, compiled / eager", "float, error of largest"]
    lines = [
        [
            network.label,
            _both(sqnr(figures, network), 1),
            _both(figures.pair("accuracy", network.case(), "others_db"), 1),
            _scheme(figures, network, "int16"),
            _scheme(figures, network, "fp32"),
        ]
        for network in networks(figures, "lowering", "schemes", "accuracy")
    ]
    return table(heads, lines)


def sqnr(figures: Figures, network: Network) -> Pair:
    """SQNR of int8 with PT2E's own flow; the target makes no difference beyond which operators it quantizes."""
    pairs = [figures.pair("lowering", network.case(target=target), "sqnr_db") for target in (U55, "tosa-int", U85)]
    return next((pair for pair in pairs if pair.ours), Pair(None, None))


def vgf(figures: Figures) -> str:
    """VGF on our compute engine, beside others on the same device in the same run, a line per network and type."""
    heads = ["network", "ours, ms", "on the GPU, ms", *(label for label, _, _ in _VGF_PEERS)]
    heads += ["load, ms: first / later", "memory, MiB", "device", "measured"]
    lines = []
    for case in figures.cases("vgf"):
        ours = figures.figure("vgf", case, "ours", "latency_ms")
        if case.get("engine") != "compute" or ours is None:
            continue
        loads = [figures.figure("vgf", case, "ours", f"load_{which}_ms") for which in ("first", "second_process")]
        lines.append(
            [
                f"{case['network']}, {case['scheme']}",
                shown(ours, 2),
                shown(figures.figure("vgf", case, "ours", "device_ms"), 2),
                *(_beside(figures, ours, case, side, engine) for _, side, engine in _VGF_PEERS),
                " / ".join(shown(figure, 0) for figure in loads),
                shown(figures.figure("vgf", case, "ours", "memory_mib"), 1),
                figures.machine("vgf", case, "ours").rpartition(", ")[2],
                f"{ours.day}, `{ours.commit}`",
            ]
        )
    return table(heads, lines)


def vgf_frames(figures: Figures) -> str:
    """VGF in an application's frames, a line per network and type."""
    heads = [
        "network",
        "frame on the GPU, ms",
        "PyTorch, ms (ours to it)",
        "record / with `replay`, µs",
        "device memory, MiB",
        "DRAM footprint on NX, MiB",
    ]
    footprints = {
        case["network"]: figures.figure("nx", case, "ours", "dram_footprint_bytes")
        for case in figures.cases("nx")
        if case["edges"] == "float"
    }
    lines = []
    for case in figures.cases("vgf_frames"):
        ours = figures.figure("vgf_frames", case, "ours", "device_ms")
        if ours is None:
            continue
        peer = "fp32" if case["scheme"] == "fp32" else "fp16"  # PyTorch has no integers there
        theirs = figures.figure("vgf_frames", {**case, "scheme": peer}, "torch", "device_ms")
        note = "" if case["scheme"] == peer else f", {peer}"
        parts = [figures.figure("vgf_frames", case, "ours", f"{part}_mib") for part in ("work", "constants")]
        estimated = footprints.get(case["network"])
        beside = theirs is not None and theirs.date == ours.date
        lines.append(
            [
                f"{case['network']}, {case['scheme']}",
                shown(ours, 2),
                f"{theirs.value:.2f}{note} ({ours.value / theirs.value:.2f})" if beside and theirs is not None else "–",
                " / ".join(
                    shown(figures.figure("vgf_frames", case, "ours", f"{way}_us"), digits)
                    for way, digits in (("record", 0), ("replay", 1))
                ),
                f"{sum(part.value for part in parts if part is not None):.1f}",
                f"{estimated.value / 2**20:.1f}" if estimated is not None and case["scheme"] == "int8" else "–",
                figures.machine("vgf_frames", case, "ours").partition(", x86_64, ")[2].partition(":")[0],
                f"{ours.day}, `{ours.commit}`",
            ]
        )
    return table([*heads, "device", "measured"], lines)


#: Heads of columns, sides and engines.
_VGF_PEERS = (("emulation layer", "ours", "layer"), ("ncnn", "ncnn", "vulkan"), ("IREE", "iree", "vulkan"))


def _beside(figures: Figures, ours: Figure, case: Case, side: str, engine: str) -> str:
    """A peer's milliseconds in the same run; ncnn has no integers on a GPU: the faster of its types, named."""
    schemes = [case["scheme"]] if side != "ncnn" or case["scheme"].startswith("fp") else ["fp32", "fp16"]
    found = []
    for scheme in schemes:
        theirs = {**case, "scheme": scheme, "engine": engine}
        figure = figures.figure("vgf", theirs, side, "latency_ms")
        if figure is not None and figure.date == ours.date:
            found.append((figure, "" if scheme == case["scheme"] else f", {scheme}"))
        elif figures.error("vgf", theirs, side):
            return "fails"
    if not found:
        return "–"
    fastest, note = min(found, key=lambda pair: pair[0].value)
    return f"{fastest.value:.2f}{note} ({ours.value / fastest.value:.2f})"


def host(figures: Figures) -> str:
    """A network on this machine's processor, a line per side."""
    lines = []
    for case in figures.cases("vgf_host"):
        for side, label in _HOST_SIDES.items():
            cpu, wall, ours = (
                figures.figure("vgf_host", {**case, "scheme": scheme}, who, metric)
                for scheme, who, metric in (
                    (case["scheme"], side, "cpu_ms"), (case["scheme"], side, "latency_ms"), ("int8", "ours", "cpu_ms")
                )
            )  # fmt: skip
            if cpu is None or wall is None or ours is None or cpu.date != ours.date:
                continue
            lines.append(
                [
                    label,
                    f"{case['network']}, {case['scheme']}",
                    f"{cpu.value:.0f} ({ours.value / cpu.value:.2f})",
                    f"{wall.value:.0f}",
                    f"{cpu.day}, `{cpu.commit}`",
                ]
            )
    return table(["what runs it", "network", "CPU ms (ours to it)", "wall ms", "measured"], lines)


_HOST_SIDES = {
    "ours": "VGF, our compute engine on llvmpipe",
    "layer": "VGF, Arm's emulation layer on llvmpipe",
    "xnnpack": "ExecuTorch, XNNPACK delegate",
    "iree-cpu": "IREE, `llvm-cpu`, the same TOSA graph",
    "ncnn-cpu": "ncnn",
    "ethosu_model": "our functional model of Ethos-U85, loops in C++",
    "reference_model": "TOSA reference model, the same TOSA graph",
}


def run_time(figures: Figures) -> str:
    """Loading on the processor, and the functional model of Ethos-U beside the TOSA reference model."""
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
                    " / ".join(shown(figure, 0) for figure in loads) if any(loads) else "–",
                    figures.machine(benchmark, case, "ours"),
                    f"{measured.day}, `{measured.commit}`" if measured else "–",
                ]
            )
    return table(heads, lines)


def means(figures: Figures) -> str:
    """Ours to the rival's over networks, growth with depth, what imports cost, and when that was, as a list."""
    lines = []
    for target, device in ((U55, "Ethos-U55-128"), (U85, "Ethos-U85-256")):
        found = {}
        for metric in ("lower_s", "backend_s", "cycles", "sram_kib"):
            pairs = [figures.pair("lowering", network.case(target=target), metric) for network in networks(figures)]
            compared = [pair for pair in pairs if pair.same_day or not metric.endswith("_s")]
            found[metric] = [pair.ratio for pair in compared if pair.ratio]
        lines.append(
            f"- {device}, ours to the rival's, geometric mean of the networks that have both: cycles "
            f"{_mean(found['cycles'])}, SRAM {_mean(found['sram_kib'])}, and of those measured on one day: "
            f"lowering time {_mean(found['lower_s'])}, of it without Vela and ExecuTorch {_mean(found['backend_s'])}."
        )
    for text, pairs in (
        ("int8 with PT2E's own flow", [sqnr(figures, network) for network in networks(figures)]),
        ("int8, one sample, each at its best", _best(figures)),
    ):
        gains = [pair.ours.value - pair.other.value for pair in pairs if pair.ours and pair.other]
        if gains:
            lines.append(
                f"- SQNR, {text}: {fmean(gains):+.1f} dB beside the rival in the mean of {len(gains)} networks "
                f"({min(gains):+.1f} to {max(gains):+.1f})."
            )
    return "\n".join([*lines, *_depth(figures), *_imports(figures), f"- Measured {figures.days()}."])


def _best(figures: Figures) -> list[Pair]:
    cases = figures.cases("accuracy")
    return [figures.pair("accuracy", case, "others_db") for case in cases]


def _depth(figures: Figures) -> list[str]:
    names = {case.get("network", "") for case in figures.cases("lowering")}
    stacks = [name for name in names if name.startswith("stack-")]
    rows = []
    for name in sorted(stacks, key=lambda name: int(name.removeprefix("stack-"))):
        pair = figures.pair("lowering", {"network": name, "target": "tosa-int"}, "backend_s")
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


def networks(figures: Figures, *benchmarks: str) -> list[Network]:
    """The networks of some benchmarks, those of ``tests/models`` first."""
    found = {
        _network(case): None
        for benchmark in benchmarks or ("lowering",)
        for case in figures.cases(benchmark)
        if not case.get("network", "stack-").startswith("stack-")
    }
    return sorted(found, key=lambda network: network.registry or "")


def _network(case: Case) -> Network:
    return Network(case["network"], case.get("registry"))


def _scheme(figures: Figures, network: Network, scheme: str) -> str:
    """A scheme's worst figure over the targets."""
    metric = "error_of_largest" if scheme == "fp32" else "sqnr_db"
    found = []
    for case in figures.cases("schemes"):
        if (_network(case), case["scheme"]) == (network, scheme):
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
    return f"{shown(worst, 1)} / {shown(eager, 1)}"


def _both(pair: Pair, decimals: int, divisor: float = 1.0) -> str:
    if pair.ours is None and pair.other is None:
        return "–"
    return f"{shown(pair.ours, decimals, divisor)} / {shown(pair.other, decimals, divisor)}"


def _compared(pair: Pair, decimals: int, divisor: float = 1.0) -> str:
    ratio = f" ({pair.ratio:.2f})" if pair.ratio is not None else ""
    return _both(pair, decimals, divisor) + ratio


def _seconds(pair: Pair) -> str:
    return _compared(pair, 1) + ("" if pair.same_day else f" {_OTHER_DAY}")


#: The blocks of the page by name.
BLOCKS: dict[str, Callable[[Figures], str]] = {
    "means": means,
    "compile-time": compile_time,
    "delegation": delegation,
    "peers": peers_tables.by_accelerator,
    "peers-above": peers_tables.above,
    "search-times": peers_tables.search_times,
    "tflite-means": tflite_tables.means,
    "tflite": tflite_tables.by_file,
    "nx": nx_tables.by_network,
    "accuracy": accuracy,
    "vgf": vgf,
    "vgf-frames": vgf_frames,
    "host": host,
    "run-time": run_time,
    "firmware-size": firmware_tables.code_size,
    "cortex-m": cortex_m_tables.by_network,
    "cortex-m-kinds": cortex_m_tables.by_kind,
    "cortex-m-lstm": cortex_m_tables.by_lstm,
    "timing-model": timing_tables.beside_vela,
    "published-cycles": timing_tables.published,
    "llm-steps": llm_tables.steps,
    "llm-lengths": llm_tables.lengths,
    "llm-programs": llm_tables.programs,
    "llm-weights": llm_tables.weights,
    "llm-reference": llm_tables.reference,
    "llm-large": llm_tables.large,
}
