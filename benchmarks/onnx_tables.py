"""The table of ``docs/how-to/i-have-an-onnx.md`` about networks through ONNX on Ethos-U."""

from __future__ import annotations

from benchmarks.documents import table
from benchmarks.figures import Case, Figures, shown

_BENCHMARK = "onnx_networks"
#: The sides, as the table calls them.
_SIDES = {
    "pytorch": "PyTorch, quantized by arm-tosa",
    "onnx": "ONNX in float, quantized by arm-tosa",
    "qdq": "ONNX Runtime's QDQ",
    "qoperator": "ONNX Runtime's QOperator",
}


def by_network(figures: Figures) -> str:
    """Accuracy, cycles and SRAM, a line per network and way through ONNX."""
    cases = figures.cases(_BENCHMARK)
    targets = list(dict.fromkeys(case["target"] for case in cases))
    names = [target.removeprefix("ethos-").upper() for target in targets]
    heads = ["network", "from", "SQNR, dB", "in ONNX Runtime, dB", *(f"{name}: cycles, SRAM" for name in names), "left"]
    lines = []
    for network in dict.fromkeys(case["network"] for case in cases):
        for side, label in _SIDES.items():
            each = [{"network": network, "target": target} for target in targets]
            if figures.newest(_BENCHMARK, each[0], side, "sqnr_db") is None:
                continue
            decibels = [shown(figures.figure(_BENCHMARK, each[0], side, key), 1) for key in ("sqnr_db", "runtime_db")]
            costs = [_cost(figures, case, side) for case in each]
            lines.append([f"`{network}`", label, *decibels, *costs, _left(figures, each, side)])
    return table(heads, lines, left=2)


def _cost(figures: Figures, case: Case, side: str) -> str:
    cycles, sram = (figures.figure(_BENCHMARK, case, side, key) for key in ("cycles", "sram_kib"))
    return f"{cycles.value:,.0f}, {sram.value:.0f} KiB" if cycles and sram else "–"


def _left(figures: Figures, cases: list[Case], side: str) -> str:
    """The most of all accelerators."""
    found = [figure for case in cases if (figure := figures.figure(_BENCHMARK, case, side, "left"))]
    return str(max(int(figure.value) for figure in found)) if found else "–"
