"""The tables of ``docs/benchmarks.md`` about a Cortex-M's kernels beside CMSIS-NN's."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean

from benchmarks.cortex_m_networks import LSTMS, NETWORKS, Layer
from benchmarks.figures import Figures, Pair

_BENCHMARK, _LSTM = "cortex_m_kernels", "cortex_m_lstm"
_CORES = ("cortex-m55", "cortex-m4")
#: The kind that both compute so differently that a network's sum leaves it out.
_APART = "softmax"
#: A ratio from which a layer is named.
_MUCH = 1.15


def by_network(figures: Figures) -> str:
    """Instructions of an inference, in millions, a line per network; their geometric mean."""
    lines, ratios = _head("network"), {core: list[float]() for core in _CORES}
    for name, layers in NETWORKS.items():
        cells = [name]
        for core in _CORES:
            pairs = [_pair(figures, core, layer) for layer in layers if layer.kind != _APART]
            ours = [pair.ours.value for pair in pairs if pair.ours is not None]
            theirs = [pair.other.value for pair in pairs if pair.other is not None]
            if len(ours) < len(pairs) or len(theirs) < len(pairs):
                cells += ["–", "–", "–"]
                continue
            ratios[core].append(sum(ours) / sum(theirs))
            cells += [f"{sum(ours) / 1e6:.2f}", f"{sum(theirs) / 1e6:.2f}", f"{ratios[core][-1]:.2f}"]
        lines.append(_row(cells))
    means = [f"{geometric_mean(each):.2f}" if each else "–" for each in ratios.values()]
    return "\n".join([*lines, _row(["geometric mean", *(cell for mean in means for cell in ("", "", mean))])])


def by_kind(figures: Figures) -> str:
    """Ours by CMSIS-NN's, a line per kind of layer: the geometric mean of the different layers, and the worst.

    Below are the layers above ``_MUCH``.
    """
    heads = ["layers", "how many", *(f"{_short(core)}: {what}" for core in _CORES for what in ("mean", "worst"))]
    lines = [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]
    every = dict.fromkeys(layer for layers in NETWORKS.values() for layer in layers)
    for kind in dict.fromkeys(layer.kind for layer in every):
        of_kind = [layer for layer in every if layer.kind == kind]
        cells = [kind, str(len(of_kind))]
        for core in _CORES:
            ratios = list(_ratios(figures, core, of_kind))
            cells += [f"{geometric_mean(ratios):.2f}", f"{max(ratios):.2f}"] if ratios else ["–", "–"]
        lines.append(_row(cells))
    above = [
        f"{layer} on {_short(core)} ({ratio:.2f})"
        for core in _CORES
        for layer in every
        if (ratio := _pair(figures, core, layer).ratio or 0) > _MUCH
    ]
    return "\n".join([*lines, "", f"Above {_MUCH}: {'; '.join(above) or 'none'}."])


def by_lstm(figures: Figures) -> str:
    """Instructions of LSTMs, in thousands, a line per shape; their geometric mean."""
    lines, ratios = _head("layer"), {core: list[float]() for core in _CORES}
    for layer in LSTMS:
        cells = [str(layer)]
        for core in _CORES:
            pair = figures.pair(_LSTM, {"core": core, "layer": str(layer)}, "instructions", "cmsis_nn")
            if pair.ours is None or pair.other is None or pair.ratio is None:
                cells += ["–", "–", "–"]
                continue
            ratios[core].append(pair.ratio)
            cells += [f"{pair.ours.value / 1e3:,.0f}", f"{pair.other.value / 1e3:,.0f}", f"{pair.ratio:.2f}"]
        lines.append(_row(cells))
    means = [f"{geometric_mean(each):.2f}" if each else "–" for each in ratios.values()]
    return "\n".join([*lines, _row(["geometric mean", *(cell for mean in means for cell in ("", "", mean))])])


def _ratios(figures: Figures, core: str, layers: list[Layer]) -> Iterator[float]:
    for layer in layers:
        ratio = _pair(figures, core, layer).ratio
        if ratio is not None:
            yield ratio


def _pair(figures: Figures, core: str, layer: Layer) -> Pair:
    return figures.pair(_BENCHMARK, {"core": core, "layer": str(layer)}, "instructions", "cmsis_nn")


def _head(first: str) -> list[str]:
    heads = [first, *(f"{_short(core)}: {what}" for core in _CORES for what in ("ours", "CMSIS-NN", "ratio"))]
    return [_row(heads), _row(["---", *["---:"] * (len(heads) - 1)])]


def _short(core: str) -> str:
    return core.removeprefix("cortex-").upper()


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
