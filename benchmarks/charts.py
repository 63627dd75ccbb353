"""The charts of ``docs/benchmarks.md`` as SVG, from measurements.

What a chart shows is apart from how it is drawn. Its file carries a digest of both in its metadata, so that whether it
is stale can be told without matplotlib.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figures
from benchmarks.tables import U55, U85, networks, sqnr

#: Colours of the first and the second series: blue and orange that readers with colour blindness tell apart.
_COLOURS = ("#0b63a5", "#c75000")
_MARKERS = ("o", "s")
_SIZES = (18, 46)  # the first is drawn upon the second, which stays visible where both are equal


@dataclass(frozen=True)
class Chart:
    """Values of two series for each network.

    Args:
        title: above the chart.
        axis: what the values are.
        series: the names of both.
        rows: network, value of the first series, value of the second; None: not measured.
        logarithmic: of the axis.
        reference: where a vertical line is.
    """

    title: str
    axis: str
    series: tuple[str, str]
    rows: list[tuple[str, float | None, float | None]]
    logarithmic: bool = False
    reference: float | None = None

    def digest(self) -> str:
        """Of the data and of this file, which draws them."""
        data = json.dumps(vars(self), sort_keys=True) + Path(__file__).read_text(encoding="utf-8")
        return hashlib.sha256(data.encode()).hexdigest()


def compile_time(figures: Figures) -> Chart:
    """CPU seconds of lowering for Ethos-U55, both sides."""
    rows = []
    for network in networks(figures):
        pair = figures.pair("lowering", network.case(target=U55), "lower_s")
        if pair.ours and pair.other:
            rows.append((network.label, pair.ours.value, pair.other.value))
    return Chart(
        title="Lowering to Ethos-U55-128, int8",
        axis="CPU seconds (logarithmic); less is better",
        series=("this project", "executorch.backends.arm"),
        rows=sorted(rows, key=lambda row: row[2] or 0),
        logarithmic=True,
    )


def cycles(figures: Figures) -> Chart:
    """Vela's cycles, ours to the rival's, on both accelerators."""
    rows = []
    for network in networks(figures):
        u55, u85 = (figures.pair("lowering", network.case(target=t), "cycles").ratio for t in (U55, U85))
        if u55 or u85:
            rows.append((network.label, u55, u85))
    return Chart(
        title="Cycles of this project to those of executorch.backends.arm, by Vela's estimate",
        axis="ratio (logarithmic); left of 1 is better",
        series=("Ethos-U55-128", "Ethos-U85-256"),
        rows=sorted(rows, key=lambda row: -(row[2] or row[1] or 0)),
        logarithmic=True,
        reference=1.0,
    )


def accuracy(figures: Figures) -> Chart:
    """SQNR of int8, both sides."""
    rows = []
    for network in networks(figures):
        pair = sqnr(figures, network)
        if pair.ours and pair.other:
            rows.append((network.label, pair.ours.value, pair.other.value))
    return Chart(
        title="Accuracy of int8 with PT2E's own flow",
        axis="SQNR against float, dB; more is better",
        series=("this project", "executorch.backends.arm"),
        rows=sorted(rows, key=lambda row: row[1] or 0),
    )


CHARTS: dict[str, Callable[[Figures], Chart]] = {"compile-time": compile_time, "cycles": cycles, "accuracy": accuracy}


def is_current(svg: str, chart: Chart) -> bool:
    """Whether an SVG was drawn of this data by this file."""
    return re.findall(r"<dc:identifier>(.*?)</dc:identifier>", svg) == [chart.digest()]


def draw(chart: Chart) -> str:
    """The chart as SVG; the same text for the same data. Its ground is white, so that it is legible on any page."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    settings = {"svg.hashsalt": "benchmarks", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10}
    with matplotlib.rc_context(settings):
        figure, axes = plt.subplots(figsize=(8.5, 1.6 + 0.22 * len(chart.rows)), layout="constrained")
        for place, (_, *values) in enumerate(chart.rows):
            known = [value for value in values if value is not None]
            axes.plot([min(known), max(known)], [place, place], color="#999999", linewidth=1.5, zorder=1)
        for number, name in enumerate(chart.series):
            points = [(row[1 + number], place) for place, row in enumerate(chart.rows) if row[1 + number] is not None]
            style = {"color": _COLOURS[number], "marker": _MARKERS[number], "s": _SIZES[number], "zorder": 3 - number}
            axes.scatter([x for x, _ in points], [y for _, y in points], label=name, **style)
        if chart.logarithmic:
            axes.set_xscale("log", subs=[])
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if chart.reference is not None:
            axes.axvline(chart.reference, color="#333333", linewidth=1, zorder=0)
        axes.set_yticks(range(len(chart.rows)), [row[0] for row in chart.rows])
        axes.set_ylim(-0.7, len(chart.rows) - 0.3)
        axes.set_xlabel(chart.axis)
        axes.set_title(chart.title, loc="left")
        axes.grid(axis="x", which="major", color="#dddddd", zorder=0)
        axes.set_axisbelow(True)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        text = io.StringIO()
        metadata = {"Date": None, "Identifier": chart.digest(), "Title": chart.title}
        figure.savefig(text, format="svg", metadata=metadata, facecolor="white")
        plt.close(figure)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"
