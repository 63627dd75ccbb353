"""Markdown tables of the figures that ``lowering.py`` collects."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

_PACKAGES = (
    "torch",
    "torchao",
    "executorch",
    "tosa-tools",
    "ethos-u-vela",
    "ai-ml-sdk-model-converter",
    "transformers",
)

# field, heading, divisor, decimals
_TIMES = (
    ("quantize_s", "quantizing, CPU s", 1, 2),
    ("lower_s", "lowering, CPU s", 1, 2),
    ("backend_s", "backend's share, CPU s", 1, 2),
    ("peak_rss_mib", "peak MiB", 1, 0),
)
_GRAPHS = (
    ("tosa_ops", "TOSA operators", 1, 0),
    ("transpose", "TRANSPOSE", 1, 0),
    ("rescale", "RESCALE", 1, 0),
    ("delegates", "delegates", 1, 0),
    ("left", "left outside", 1, 0),
    ("sqnr_db", "SQNR, dB", 1, 1),
)
_DEVICE = (("cycles", "Vela cycles, M", 1e6, 3), ("sram_kib", "SRAM, KiB", 1, 0), ("flash_kib", "flash, KiB", 1, 0))

_Field = tuple[str, str, float, int]
_Groups = dict[tuple[str, str], dict[str, list[dict[str, Any]]]]


def tables(rows: Iterable[dict[str, Any]]) -> str:
    """One paragraph on the machine and the versions, then a table per kind of figure: ours, rival's, ratio."""
    groups: _Groups = {}
    for row in latest(list(rows)):
        groups.setdefault((row["model"], row["target"]), {}).setdefault(row["side"], []).append(row)
    cases = {key: sides for key, sides in groups.items() if key[1] != "import" and not _depth_of(key[0])}
    parts = [_setting(groups)]
    if imports := {key: sides for key, sides in groups.items() if key[1] == "import"}:
        parts.append(_imports(imports))
    if stacks := {_depth_of(key[0]): sides for key, sides in groups.items() if _depth_of(key[0])}:
        parts.append(_depth(stacks))
    if cases:
        device = {key: sides for key, sides in cases.items() if key[1].startswith("ethos")}
        parts += [_table("Time and memory of the compiler", _TIMES, cases), _table("Graph", _GRAPHS, cases)]
        if device:
            parts.append(_table("Device, by Vela's estimate", _DEVICE, device))
        parts.append(_failures(cases))
    return "\n\n".join(part for part in parts if part) + "\n"


def latest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each case's last run: figures are compared within one run only."""
    last: dict[tuple[str, str], str] = {}
    for row in rows:
        case = (row["model"], row["target"])
        last[case] = max(row["run"], last.get(case, ""))
    return [row for row in rows if row["run"] == last[row["model"], row["target"]]]


def _setting(groups: _Groups) -> str:
    repeats = max(len(rows) for sides in groups.values() for rows in sides.values())
    return f"{setting(repeats)} Each cell: ours / rival's (ratio)."


def setting(repeats: int) -> str:
    """The machine and the versions, in a sentence."""
    versions = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
    return f"Medians of up to {repeats} runs on {platform.machine()}, Python {platform.python_version()}, {versions}."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _table(title: str, fields: Sequence[_Field], groups: _Groups) -> str:
    lines = [f"### {title}", "", "| network | target | " + " | ".join(f[1] for f in fields) + " |"]
    lines.append("|---|---|" + "---:|" * len(fields))
    for (model, target), sides in groups.items():
        cells = [_cell(sides.get("ours", []), sides.get("rival", []), field) for field in fields]
        lines.append(f"| {model} | {target} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(ours: list[dict[str, Any]], rivals: list[dict[str, Any]], field: _Field) -> str:
    name, _, divisor, decimals = field
    pair = []
    for rows in (ours, rivals):
        values = [row[name] for row in rows if name in row]
        over = [row["over"][name] for row in rows if name in row.get("over", {})]
        if values:
            pair.append(f"{median(values) / divisor:.{decimals}f}")
        else:
            pair.append(f"over {median(over):.0f}" if over else "–")
    ratio = ""
    if name != "sqnr_db" and all(_is_number(text) for text in pair) and float(pair[1]):
        ratio = f" ({float(pair[0]) / float(pair[1]):.2f})"
    return f"{pair[0]} / {pair[1]}{ratio}"


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("-", "", 1).isdigit()


def _imports(groups: _Groups) -> str:
    lines = ["### Import, beyond `import executorch.exir`", "", "| statement | CPU s |", "|---|---:|"]
    for (statement, _), sides in groups.items():
        values = [row["import_s"] for rows in sides.values() for row in rows if "import_s" in row]
        lines.append(f"| `{statement}` | {median(values):.2f} |" if values else f"| `{statement}` | failed |")
    return "\n".join(lines)


def _depth_of(model: str) -> int:
    return int(model.removeprefix("stack-")) if model.startswith("stack-") else 0


def _depth(stacks: dict[int, dict[str, list[dict[str, Any]]]]) -> str:
    """The backend's share at each depth, and what it is multiplied by from the depth before."""
    lines = ["### Backend's share against depth, CPU s", "", "| MobileNetV2 blocks, tosa-int | ours | rival |"]
    lines.append("|---:|---:|---:|")
    before: dict[str, float] = {}
    for depth, sides in sorted(stacks.items()):
        cells = []
        for side in ("ours", "rival"):
            values = [row["backend_s"] for row in sides.get(side, []) if "backend_s" in row]
            if not values:
                cells.append("–")
                continue
            seconds = median(values)
            cells.append(f"{seconds:.2f}" + (f" (× {seconds / before[side]:.2f})" if side in before else ""))
            before[side] = seconds
        lines.append(f"| {depth} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def _failures(groups: _Groups) -> str:
    lines = []
    for (model, target), sides in groups.items():
        for side, rows in sides.items():
            if error := next((row["error"] for row in rows if "error" in row), None):
                lines.append(f"- {side}, {model}, {target}: {error}")
            if names := next((row["left_names"] for row in rows if row.get("left")), None):
                listed = ", ".join(f"{count} {name}" for name, count in names.items())
                lines.append(f"- {side}, {model}, {target}: left outside: {listed}")
    return "\n".join(["### Failures, and operators left outside", "", *lines]) if lines else ""


def parser(
    description: str | None,
    networks: Sequence[str],
    default: Sequence[str],
    schemes: Sequence[str],
    targets: Sequence[str],
) -> argparse.ArgumentParser:
    """The command line of the benchmarks that run networks, some of ``networks``, in each scheme on each target."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(networks), default=list(default))
    parser.add_argument("--schemes", nargs="+", choices=schemes, default=list(schemes))
    parser.add_argument("--targets", nargs="+", choices=targets, default=list(targets))
    parser.add_argument("--rows", type=Path, help="a file to which each row is appended when it is done")
    parser.add_argument("--report", type=Path, nargs="+", help="files of --rows: print their table, measure nothing")
    parser.add_argument("--update", type=Path, help="put the table into this document")
    return parser


def show(
    options: argparse.Namespace,
    measure: Callable[[argparse.Namespace], Iterable[dict[str, Any]]],
    table: Callable[[list[dict[str, Any]]], str],
    name: str = "figures",
) -> None:
    """Prints the table of the figures in ``--report``, or else of new ones, and puts it where ``--update`` says."""
    if options.report:
        rows = [json.loads(line) for path in options.report for line in path.read_text().splitlines()]
    else:
        rows = list(measure(options))
    text = table(rows)
    print(text)
    if options.update:
        put(options.update, text, name)


def put(document: Path, text: str, name: str = "figures") -> None:
    """Replaces what stands between the two marks of this name in a Markdown document.

    Raises:
        ValueError: the document lacks a mark.
    """
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, first, rest = document.read_text().partition(begin)
    _, second, tail = rest.partition(end)
    if not (first and second):
        raise ValueError(f"{document} needs the lines {begin} and {end}")
    fresh = document.with_suffix(".new")
    fresh.write_text(f"{head}{begin}\n\n{text}\n{end}{tail}")
    fresh.replace(document)
