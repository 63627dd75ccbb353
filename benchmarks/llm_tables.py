"""The tables of ``docs/benchmarks.md`` about a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arm_tosa_core.accuracy.scheme import ALIASES
from benchmarks.documents import table
from benchmarks.figures import Case, Figures

_SIDES = {
    "ours": "`compile_llm`",
    "buffers": "ours, cache in buffers",
    "rival": "rival, the methods of `compile_llm`",
    "rival buffers": "rival, cache in buffers",
}
_STEP = {
    "delegates": ("delegates", "{:,.0f}".format),
    "left": ("operators on the CPU", "{:,.0f}".format),
    "decode_cycles": ("cycles per token", "{:,.0f}".format),
    "prefill_cycles": ("of 32 at once, per token", lambda value: f"{value / 32:,.0f}"),
    "decode_sram_kib": ("SRAM, KiB", "{:,.0f}".format),
    "weight_bytes": ("weights, KiB", lambda value: f"{value / 1024:,.0f}"),
    "copied_bytes": ("copied per token, KiB", lambda value: f"{value / 1024:,.0f}"),
    "perplexity": ("perplexity", "{:.3f}".format),
}


def steps(figures: Figures) -> str:
    """What a token costs, for each side."""
    lines = []
    for case in figures.cases("llm"):
        for side, name in _SIDES.items():
            found = {metric: _value(figures, case, side, metric) for metric in _STEP}
            if found["decode_cycles"] is not None:
                scheme = ALIASES.get(case["scheme"], case["scheme"])
                lines.append([name, scheme, case["context"], *_cells(found, _STEP)])
    return table(["methods", "scheme", "context", *(head for head, _ in _STEP.values())], lines, left=2)


def lengths(figures: Figures) -> str:
    """What a token costs by the length of the text, with a decode method for each."""
    lines = []
    for case in figures.cases("llm"):
        for name in ("decode_64", "decode_256", "decode"):
            cycles, sram = (_value(figures, case, "lengths", f"{name}_{figure}") for figure in ("cycles", "sram_kib"))
            if cycles is not None:
                positions = name.removeprefix("decode_") if "_" in name else case["context"]
                lines.append(
                    [
                        f"`{name}`",
                        ALIASES.get(case["scheme"], case["scheme"]),
                        positions,
                        f"{cycles:,.0f}",
                        f"{sram or 0:,.0f}",
                    ]
                )
    return table(["method", "scheme", "positions", "cycles per token", "SRAM, KiB"], lines, left=2)


_METHODS = {
    "by_length": "`decode`, `decode_64`",
    "prefill": "`decode`, `prefill`",
    "all": "`decode`, `decode_64`, `prefill`",
}


def weights(figures: Figures) -> str:
    """What methods have in common."""
    lines = []
    for case in figures.cases("llm"):
        for name, methods in _METHODS.items():
            found = [_value(figures, case, "weights", f"{name}_{part}") for part in ("apart", "shared", "ordered")]
            if sizes := [f"{value / 1024:,.0f}" for value in found if value]:
                lines.append([methods, ALIASES.get(case["scheme"], case["scheme"]), *sizes])
    columns = ["each by itself, KiB", "as stored, KiB", 'with weight_order="shared", KiB']
    return table(["methods", "scheme", *columns], lines, left=2)


def programs(figures: Figures) -> str:
    """What a program of ``compile_llm`` costs, and how well it writes."""
    lines = []
    for case in figures.cases("llm"):
        found = {name: _value(figures, case, "ours", name) for name in _METRICS}
        if found["prefill_cycles"] is not None:
            lines.append([ALIASES.get(case["scheme"], case["scheme"]), case["context"], *_cells(found, _METRICS)])
    return table(["scheme", "context", *(head for head, _ in _METRICS.values())], lines, left=1)


def reference(figures: Figures) -> str:
    """How a text reads on the TOSA reference model."""
    lines = []
    for case in figures.cases("llm"):
        tokens, equal = (_value(figures, case, "reference", name) for name in ("tokens", "equal_scores"))
        if tokens:
            names = ("reference_perplexity", "perplexity", "float_perplexity")
            found = [f"{_value(figures, case, 'reference', name) or 0:.4f}" for name in names]
            scheme = ALIASES.get(case["scheme"], case["scheme"])
            lines.append([scheme, *found, f"{equal:,.0f} of {tokens:,.0f}"])
    heads = ["on the TOSA reference model", "on the functional model", "in float", "tokens with bit-equal scores"]
    return table(["scheme", *heads], lines, left=1)


def large(figures: Figures) -> str:
    """What compiling a large model takes."""
    lines = []
    for case in figures.cases("llm_large"):
        found = {name: _value(figures, case, "ours", name, "llm_large") or 0 for name in _LARGE}
        if not found["weights_mib"]:
            continue  # it failed
        cycles = _value(figures, case, "ours", "decode_cycles", "llm_large")
        copies = (found["peak_mib"] - found["base_mib"]) / found["weights_mib"]
        counts = [f"{found[name]:,.0f}" for name in ("delegates", "left", "compile_s", "peak_mib", "largest_mib")]
        shown = "–" if cycles is None else f"{cycles:,.0f}"
        counts.insert(-1, f"{copies:.1f}")
        lines.append([case["target"], *counts, f"{found['pte_bytes'] / 2**20:,.0f}", shown])
    return table(["target", *_LARGE_HEADS], lines, left=1)


_LARGE = ("delegates", "left", "compile_s", "base_mib", "peak_mib", "largest_mib", "weights_mib", "pte_bytes")
_LARGE_HEADS = (
    "delegates",
    "operators on the CPU",
    "CPU time to compile, s",
    "memory at its peak, MiB",
    "of the float weights, without PyTorch itself",
    "of the largest process, MiB",
    ".pte, MiB",
    "cycles per token",
)

_METRICS = {
    "prefill_cycles": ("cycles of 32 tokens at once", "{:,.0f}".format),
    "cache_bytes": ("cache, KiB", lambda value: f"{value / 1024:,.0f}"),
    "row_bytes": ("bytes that a token adds", "{:,.0f}".format),
    "pte_bytes": (".pte, KiB", lambda value: f"{value / 1024:,.0f}"),
    "perplexity": ("perplexity", "{:.3f}".format),
    "float_perplexity": ("of float", "{:.3f}".format),
    "same_choice_percent": ("same next token, %", "{:.1f}".format),
    "same_tokens": ("tokens until the first unlike float's, of 64", "{:.1f}".format),
}


_Columns = Mapping[str, tuple[str, Callable[[float], str]]]


def _cells(found: Mapping[str, float | None], columns: _Columns) -> list[str]:
    """A dash for what was not measured."""
    return ["–" if (value := found[name]) is None else form(value) for name, (_, form) in columns.items()]


def _value(figures: Figures, case: Case, side: str, metric: str, benchmark: str = "llm") -> float | None:
    figure = figures.figure(benchmark, case, side, metric)
    return None if figure is None else figure.value
