"""What mkdocs does besides: the page of the command line is written from the typer application at every build.

A page marks the place with the comment ``<!-- arm-tosa: commands -->``.
"""

from __future__ import annotations

import inspect
from typing import Any, get_args

MARK = "<!-- arm-tosa: commands -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with each page before it is rendered."""
    return markdown.replace(MARK, commands()) if MARK in markdown else markdown


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
