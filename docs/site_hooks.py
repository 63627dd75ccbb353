"""What mkdocs does besides: it writes parts of pages, adds ``SECURITY.md`` and the gallery's data, and keeps notes out
of the search.

Commands come from the typer application, operators by target from the cases of the conformance kit, chips from their
files. A page marks the place with a comment such as ``<!-- arm-tosa: commands -->``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

PACKAGES = Path(__file__).parents[1] / "packages"
#: The data of the page ``gallery.md``, in the site.
GALLERY = "javascripts/gallery_data.js"
#: Columns of the table of operators: the head, a scheme, whether the target computes in float too, and its refusals.
_COLUMNS = (
    ("VGF, float", "fp32", True, "arm-vgf/tests/refusals/vgf.txt"),
    ("VGF, int8", "int8", True, "arm-vgf/tests/refusals/vgf.txt"),
    ("U55 and U65, int8", "int8", False, "arm-ethosu/tests/refusals/u55.txt"),
    ("U55 and U65, int16x8", "int16", False, "arm-ethosu/tests/refusals/u55.txt"),
    ("U85, int8", "int8", False, "arm-ethosu/tests/refusals/u85.txt"),
    ("U85, int16x8", "int16", False, "arm-ethosu/tests/refusals/u85.txt"),
    ("Cortex-M, int8", "int8", False, "arm-cortex-m/tests/refusals/cortex_m.txt"),
    ("Cortex-M, int16x8", "int16", False, "arm-cortex-m/tests/refusals/cortex_m.txt"),
)


def on_files(files: Any, *, config: Any) -> Any:
    """Called by mkdocs with its files: a text of the repository that pages refer to becomes a page."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "security.md", content=(PACKAGES.parent / "SECURITY.md").read_text()))
    files.append(File.generated(config, GALLERY, content=gallery()))
    return files


def gallery() -> str:
    """The data of the page ``gallery.md``, from the rows of benchmarks."""
    sys.path.append(str(PACKAGES.parent))  # benchmarks is no package that is installed
    from benchmarks.gallery import script
    from benchmarks.results import RESULTS, read

    return script(read(RESULTS))


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """Called by mkdocs with each page before it is rendered."""
    if page is not None and page.file.src_uri.startswith("notes/"):
        page.meta["search"] = {"exclude": True}
    markdown = re.sub(r"\]\(((?:\.\./)*)\.\./SECURITY\.md\)", r"](\1security.md)", markdown)
    for mark, made in MARKS.items():
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    return markdown


def operators() -> str:
    """A table: how many cases of each operator of the conformance kit each target takes, and why not the rest."""
    from arm_tosa_core.testing.cases import CASES
    from arm_tosa_core.testing.plugin import read_refusals

    refusals = {file: read_refusals(PACKAGES / file) for *_, file in _COLUMNS}
    counts: dict[str, list[list[str]]] = {}  # by operator, for each column, the reasons of its cases; "" where taken
    for case in CASES:
        row = counts.setdefault(case.name.partition("/")[0], [[] for _ in _COLUMNS])
        for cell, (_, scheme, has_float, file) in zip(row, _COLUMNS, strict=True):
            floats = "a part of it computes in float" if scheme in case.needs_float and not has_float else ""
            listed = refusals[file].get(f"{case.name}-{scheme}", "")
            cell.append(case.refuses.get(scheme, "") or floats or listed)
    heads = ["operator", *(head for head, *_ in _COLUMNS), "reasons of cases on the CPU (at most three)"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in sorted(counts.items()):
        reasons = Counter(reason for cell in row for reason in cell if reason)
        cells = [_share(cell) for cell in row]
        lines.append(f"| `{name}` | {' | '.join(cells)} | {'<br>'.join(why for why, _ in reasons.most_common(3))} |")
    return "\n".join(lines)


def _share(reasons: list[str]) -> str:
    taken = reasons.count("")
    return "yes" if taken == len(reasons) else "no" if not taken else f"{taken} of {len(reasons)}"


def commands() -> str:
    """A section for each command of ``arm-tosa``: what it does, its usage, its arguments and options."""
    import typer

    from arm_tosa_core.cli.main import app

    group: Any = typer.main.get_command(app)
    return "\n\n".join(_section(name, command) for name, command in group.commands.items())


def _section(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    required = [f"{max(p.opts, key=len)} {_value(p)}" for p in options if p.required]
    usage = " ".join(["arm-tosa", name, *map(_value, arguments), *required, "[OPTIONS]"])
    rows = [f"| {_names(p)} | {_meaning(p)} |" for p in [*arguments, *options]]
    lines = [f"## {name}", "", inspect.cleandoc(command.help or ""), "", "```text", usage, "```", ""]
    return "\n".join([*lines, "| argument or option | means |", "|---|---|", *rows])


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_value(parameter)}`"
    value = "" if parameter.is_flag else f" {_value(parameter)}"
    return ", ".join(f"`{name}{value}`" for name in sorted(parameter.opts, key=len, reverse=True))


def _meaning(parameter: Any) -> str:
    words = [parameter.help or ""]
    if parameter.required:
        words.append("Required.")
    elif parameter.default is not None and not getattr(parameter, "is_flag", False):
        words.append(f"Default: `{parameter.default}`.")
    return " ".join(filter(None, words)).replace("|", r"\|")


def _value(parameter: Any) -> str:
    """What stands for a parameter's value: MODEL, FILE, TEXT."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name).strip("{}").upper()
    kinds = {"Path": "FILE", "int": "NUMBER"}
    annotation = parameter.type_descriptor.annotation
    inner = get_args(annotation) or (annotation,)
    return kinds.get(getattr(inner[0], "__name__", ""), "TEXT")


def chips() -> str:
    """A table of the chips of this repository, and a section for each, with all its facts and their sources."""
    from arm_tosa_core.plugin.chip import FACTS, Chip, read_chips

    def value(chip: Chip, key: str) -> str:
        return str(chip.facts[key].value) if key in chip.facts else "–"

    found = sorted(
        (chip for folder in PACKAGES.glob("*/src/*/chips") for chip in read_chips(folder)), key=lambda chip: chip.name
    )
    lines = ["| chip | what it is | target | NPU, MHz | SRAM |", "|---|---|---|---|---|"]
    for chip in found:
        columns = f"`{chip.target}` | {value(chip, 'npu_mhz')} | {value(chip, 'sram')}"
        lines.append(f"| [`{chip.name}`](#{chip.name}) | {chip.title} | {columns} |")
    for chip in found:
        options = "".join(f" --option {key}={text}" for key, text in chip.options.items())
        lines += ["", f"## {chip.name}", "", f"{chip.title}. {chip.note}".strip(), ""]
        lines += [f"`--target {chip.target}{options}`", "", "| fact | value | source |", "|---|---|---|"]
        for key, label in FACTS.items():
            if key in chip.facts:
                sources = "<br>".join(f"<{source}>" for source in chip.facts[key].sources)
                lines.append(f"| {label} | {chip.facts[key].value} | {sources} |")
    return "\n".join(lines)


#: What stands in a page for what is written at every build.
MARKS = {
    "<!-- arm-tosa: chips -->": chips,
    "<!-- arm-tosa: commands -->": commands,
    "<!-- arm-tosa: operators -->": operators,
}
