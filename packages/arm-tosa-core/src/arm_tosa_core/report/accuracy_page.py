"""The report as one HTML page, pictures included: no script, no file beside it, nothing from the network."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from ..accuracy.compare import Comparison, OperatorError
from ..accuracy.search import Search

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; color: #1b1f24; }
h1 { font-size: 1.4em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; } td, th { padding: .2em .7em; text-align: left; border-bottom: 1px solid #d8dee4; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } code { font-size: .92em; }
svg { background: #fafbfc; border: 1px solid #d8dee4; margin: .3em .6em .3em 0; }
svg text { font: 11px system-ui, sans-serif; fill: #57606a; } figure { display: inline-block; margin: 0 1em 1em 0; }
"""
_BLUE, _ORANGE, _GREY = "#2563a8", "#c2570c", "#b5bcc4"
_CEILING = 80.0  # dB: what is more exact looks the same


def page(title: str, comparison: Comparison, found: Search | None, worst: int = 30) -> str:
    """The page.

    Args:
        found: the result of a search, or None.
        worst: rows of the table of operators, and half as many histograms.
    """
    rows = comparison.worst()
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>End to end: {_whole(comparison)}, {comparison.samples} samples, {len(rows)} operators.</p>",
        _outputs(comparison),
        "<h2>Error along the network</h2>",
        "<p>SQNR of each result in the quantized model (blue), and of its own rounding alone (orange). "
        "Where blue falls and orange does not, the error comes from before.</p>",
        _along(comparison.operators),
        "<h2>Worst operators</h2>",
        "<p>Bits: of the integers that hold the result; – where it is not rounded by itself.</p>",
        _table(rows[:worst]),
        "<h2>Their results in float</h2>",
        "<p>Logarithmic counts; grey is what the integers cannot reach, at which values saturate.</p>",
        "".join(_histogram(row) for row in rows[: worst // 2] if row.histogram and row.representable),
    ]
    if found is not None:
        parts += [f"<h2>{found.measure} against {html.escape(found.figure)}</h2>", _pareto(found), _points(found)]
        parts.append(_kept(found))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _whole(comparison: Comparison) -> str:
    figures = []
    if comparison.metric is not None:
        figures.append(f"metric <b>{comparison.metric:g}</b> (float {comparison.float_metric:g})")
    if comparison.sqnr_db is not None:
        figures.append(f"SQNR <b>{_number(comparison.sqnr_db)} dB</b> against float")
    if comparison.equal is not None:
        figures.append(f"<b>{100 * comparison.equal:.2f} %</b> of the integers equal")
    return ", ".join(figures)


def _outputs(comparison: Comparison) -> str:
    """A row per output, where there are several."""
    if len(comparison.outputs) < 2:
        return ""
    lines = ["<h2>Outputs</h2><p>The worst decides.</p>"]
    lines.append('<table><tr><th>output</th><th class="n">SQNR, dB</th><th class="n">equal</th></tr>')
    for output in comparison.outputs:
        equal = "–" if output.equal is None else f"{100 * output.equal:.2f} %"
        lines.append(f"<tr><td><code>{html.escape(output.name)}</code></td>")
        lines.append(f'<td class="n">{_number(output.sqnr_db)}</td><td class="n">{equal}</td></tr>')
    return "".join([*lines, "</table>"])


def _number(value: float | None, digits: int = 1) -> str:
    if value is None:
        return "–"
    return "∞" if value == math.inf else "−∞" if value == -math.inf else f"{value:.{digits}f}"


def _along(operators: Sequence[OperatorError], width: int = 1100, height: int = 240) -> str:
    """Both curves over the operators, in the order of the network."""
    if not operators:
        return "<p>No operator is quantized.</p>"
    left, bottom = 40, 20

    def at(index: int, value: float) -> str:
        x = left + (width - left - 10) * index / max(len(operators) - 1, 1)
        y = (height - bottom) * (1 - min(max(value, 0.0), _CEILING) / _CEILING)
        return f"{x:.1f},{y + 5:.1f}"

    lines = []
    for mark in range(0, 81, 20):
        y = at(0, mark).split(",")[1]
        lines.append(f'<line x1="{left}" x2="{width}" y1="{y}" y2="{y}" stroke="#e4e8ec"/>')
        lines.append(f'<text x="4" y="{float(y) + 4:.1f}">{mark} dB</text>')
    own = [(i, row.own_sqnr_db) for i, row in enumerate(operators) if row.own_sqnr_db is not None]
    for points, colour in ((own, _ORANGE), ([(i, r.sqnr_db) for i, r in enumerate(operators)], _BLUE)):
        path = " ".join(at(i, value) for i, value in points)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
    for i, row in enumerate(operators):
        x, y = at(i, row.sqnr_db).split(",")
        label = html.escape(f"{row.name} ({row.operator}): {_number(row.sqnr_db)} dB\n{row.source}")
        lines.append(f'<circle cx="{x}" cy="{y}" r="2.5" fill="{_BLUE}"><title>{label}</title></circle>')
    return _svg(width, height + 10, lines, "SQNR of every operator along the network")


def _svg(width: int, height: int, lines: Sequence[str], label: str) -> str:
    return (
        f'<svg role="img" aria-label="{html.escape(label)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(lines)}</svg>'
    )


def _table(rows: Sequence[OperatorError]) -> str:
    head = ("SQNR, dB", "own, dB", "bits", "saturated", "least", "greatest")
    lines = ["<table><tr><th>operator</th>", *(f'<th class="n">{h}</th>' for h in head), "<th>where</th></tr>"]
    for row in rows:
        numbers = (
            _number(row.sqnr_db),
            _number(row.own_sqnr_db),
            "–" if row.bits is None else str(row.bits),
            f"{100 * row.saturated:.2f} %",
            f"{row.range[0]:.4g}",
            f"{row.range[1]:.4g}",
        )
        where = html.escape(row.source or row.module)
        lines.append(f"<tr><td><code>{html.escape(row.name)}</code><br>{html.escape(row.operator)}</td>")
        lines += [f'<td class="n">{n}</td>' for n in numbers]
        lines.append(f"<td><code>{where}</code></td></tr>")
    return "".join([*lines, "</table>"])


def _histogram(row: OperatorError, width: int = 330, height: int = 130) -> str:
    low, high = row.histogram_range
    assert row.representable is not None
    top = max(math.log1p(n) for n in row.histogram) or 1.0
    bar = width / len(row.histogram)
    lines = []
    for i, count in enumerate(row.histogram):
        centre = low + (high - low) * (i + 0.5) / len(row.histogram)
        inside = row.representable[0] <= centre <= row.representable[1]
        tall = (height - 20) * math.log1p(count) / top
        lines.append(
            f'<rect x="{i * bar:.1f}" y="{height - 20 - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" '
            f'fill="{_BLUE if inside else _GREY}"/>'
        )
    lines.append(f'<text x="2" y="{height - 5}">{low:.3g}</text>')
    lines.append(f'<text x="{width - 2}" y="{height - 5}" text-anchor="end">{high:.3g}</text>')
    caption = html.escape(f"{row.name}, {_number(row.sqnr_db)} dB")
    return f"<figure>{_svg(width, height, lines, caption)}<figcaption>{caption}</figcaption></figure>"


def _pareto(found: Search, width: int = 560, height: int = 240) -> str:
    most, wanted = found.bounds.most, found.bounds.least
    costs = [p.cost for p in found.points] + ([most] if most < math.inf else [])
    gains = [_shown(p.value, found) for p in found.points]
    low, high = min(costs), max(costs)
    bottom, top = (edge([*gains, *([wanted] if wanted > -math.inf else [])]) for edge in (min, max))

    def x(cost: float) -> float:
        return 20 + (width - 40) * (cost - low) / ((high - low) or 1.0)

    def y(gain: float) -> float:
        return height - 30 - (height - 60) * (gain - bottom) / ((top - bottom) or 1.0)

    dashed = f'stroke="{_GREY}" stroke-dasharray="4"/>'
    lines = []
    if most < math.inf:
        lines.append(f'<line x1="{x(most):.1f}" x2="{x(most):.1f}" y1="0" y2="{height}" {dashed}')
    if wanted > -math.inf:
        lines.append(f'<line x1="0" x2="{width}" y1="{y(wanted):.1f}" y2="{y(wanted):.1f}" {dashed}')
    for point, gain in zip(found.points, gains, strict=True):
        colour = _ORANGE if point == found.chosen else _BLUE if point.pareto else _GREY
        label = f"{point.cost:g} {found.figure}, {_value(point.value, found)}, {len(point.units)} in 16 bits"
        lines.append(
            f'<circle cx="{x(point.cost):.1f}" cy="{y(gain):.1f}" r="4.5" fill="{colour}">'
            f"<title>{html.escape(label)}</title></circle>"
        )
    lines.append(f'<text x="4" y="{height - 6}">{low:g} {html.escape(found.figure)}</text>')
    lines.append(f'<text x="{width - 4}" y="{height - 6}" text-anchor="end">{high:g}</text>')
    lines.append(f'<text x="4" y="14">{_value(top, found)} at the top, {_value(bottom, found)} below</text>')
    return _svg(width, height, lines, f"{found.measure} against {found.figure}; what was asked for is dashed")


def _shown(value: float, found: Search) -> float:
    """Where a value stands: no SQNR is infinite on a picture."""
    return value if found.measure == "metric" else min(max(value, 0.0), 2 * _CEILING)


def _value(value: float, found: Search) -> str:
    return f"{value:.4g}" if found.measure == "metric" else f"{_number(value)} dB"


def _kept(found: Search) -> str:
    """The groups of what was chosen."""
    lines = ["<p>Kept in 16 bits; numbers go from one unit of a row to another, and stay in 16 bits between them.</p>"]
    lines.append("<table><tr><th>units</th><th>where</th></tr>")
    for group in found.groups:
        names = "<br>".join(html.escape(unit.name) for unit in group)
        where = "<br>".join(html.escape(unit.source) for unit in group)
        lines.append(f"<tr><td><code>{names}</code></td><td><code>{where}</code></td></tr>")
    return "".join([*lines, "</table>"]) if found.groups else ""


def _points(found: Search) -> str:
    lines = ['<table><tr><th class="n">units in 16 bits</th><th class="n">' + found.measure + "</th>"]
    lines.append(f'<th class="n">{html.escape(found.figure)}</th><th></th></tr>')
    for point in found.points:
        note = "chosen" if point == found.chosen else "" if point.pareto else "another is better at no more cost"
        lines.append(f'<tr><td class="n">{len(point.units)}</td><td class="n">{_value(point.value, found)}</td>')
        lines.append(f'<td class="n">{point.cost:,.0f}</td><td>{note}</td></tr>')
    return "".join([*lines, "</table>"])
