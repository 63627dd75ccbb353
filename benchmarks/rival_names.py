"""The public names of executorch.backends.arm beside ours: signature, and what stands for each here.

``python -m benchmarks.rival_names --update docs/reference/compatibility.md`` writes the table into the document. Public
are the names that the package and its folders ``ethosu``, ``vgf``, ``quantizer``, ``tosa`` and ``recipes`` export, with
the public members of these classes.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import arm_ethosu
import arm_tosa_core
import arm_vgf
from benchmarks.documents import update_block

_RIVAL = "executorch.backends.arm"
_FOLDERS = ("ethosu", "vgf", "quantizer", "tosa", "recipes")
_OURS = ("arm_tosa_core", "arm_ethosu", "arm_vgf")
_MISSING = object()

#: The first word of a state.
SAME, OTHER, REFUSED, ABSENT = "same", "other name", "an error that says what to use", "not here"

#: State and text of names that ours have not, of all behind a dot too, and of parameters.
NOTES: dict[str, tuple[str, str]] = {
    "ArmRecipeProvider": (OTHER, "`arm_tosa_core.export_recipe(spec, config)` makes the recipe"),
    "ArmRecipeType": (OTHER, "`arm_tosa_core.export_recipe(spec, config)` makes the recipe"),
    "QuantizationConfig(label)": (ABSENT, "schemes have no labels"),
    "QuantizationConfig.label": (ABSENT, "schemes have no labels"),
    "TosaSpecification(extras)": (OTHER, "`profiles`, `extensions` and `level`; or `create_from_string`"),
    "TosaSpecification.create_from_string(repr)": (OTHER, "`text`"),
    "TosaSpecification.all_profiles_for_version": (ABSENT, "write the specification as a string"),
    "TosaSpecification.all_versions_and_profiles": (ABSENT, "write the specification as a string"),
    "TosaSpecification.all_versions_for_profile": (ABSENT, "write the specification as a string"),
    "is_annotated": (OTHER, '`"quantization_annotation" in node.meta`'),
} | {
    f"{spec}CompileSpec.{name}": state
    for spec in ("EthosU", "Vgf")
    for name, state in (
        ("preserve_io_quantization", (OTHER, "`lower(..., integer_io=True)`")),
        ("tosa_dev_mode", (ABSENT, "no switch: the version in `tosa_spec` says it, `TOSA-1.1+...`")),
    )
}

#: Ours that are there to say what to use.
REFUSALS = {
    f"{spec}CompileSpec.set_pass_pipeline_config": "no pass of it is here; `add_rewrites` takes a transform"
    for spec in ("EthosU", "Vgf")
}


@dataclass(frozen=True)
class Row:
    """A public name of the rival.

    Args:
        name: of a class or function, or of a member, behind a dot.
        signature: its parameters; empty for what is not called.
        state: begins with one of the words above.
    """

    name: str
    signature: str
    state: str


def rows() -> list[Row]:
    """A row for each public name, in alphabetical order.

    Raises:
        LookupError: ours lack a name and there is no note on it, or a note is not needed.
    """
    found = {name: value for top in _exported().items() for name, value in _members(*top)}
    used: set[str] = set()
    made = [Row(name, _signature(value), _state(name, value, used)) for name, value in sorted(found.items())]
    if stale := sorted(NOTES.keys() - used) + sorted(REFUSALS.keys() - found.keys()):
        raise LookupError(f"notes of names that {_RIVAL} has not, or that ours have too: {', '.join(stale)}")
    return made


def table() -> str:
    """The rows in Markdown, behind counts of their states."""
    made = rows()
    counts = {word: sum(row.state.startswith(word) for row in made) for word in (SAME, OTHER, REFUSED, ABSENT)}
    lines = [
        f"{len(made)} names: " + ", ".join(f"{n} {word}" for word, n in counts.items()) + ".",
        "",
        "| name | parameters | here |",
        "|---|---|---|",
    ]
    lines += [f"| `{row.name}` | {f'`{row.signature}`' if row.signature else ''} | {row.state} |" for row in made]
    return "\n".join(lines)


def _exported() -> dict[str, Any]:
    """The classes and functions of the rival's own that its package and folders export."""
    package = importlib.import_module(_RIVAL)
    found = {name: getattr(package, name) for name in package.LAZY_IMPORTS}
    for folder in _FOLDERS:
        module = importlib.import_module(f"{_RIVAL}.{folder}")
        for name in getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]):
            value = getattr(module, name)
            if callable(value) and getattr(value, "__module__", "").startswith(_RIVAL):
                found[name] = value
    return found


def _members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A name, and the public members that the rival gave to its class; not those of enumerations."""
    yield name, value
    if not inspect.isclass(value):
        return
    for member in dir(value):
        home = next((vars(base)[member] for base in value.__mro__ if member in vars(base)), None)
        owner = next((base for base in value.__mro__ if member in vars(base)), object)
        if not member.startswith("_") and owner.__module__.startswith(_RIVAL):
            inner = getattr(value, member)
            if not inspect.isclass(inner) or inner.__module__.startswith(_RIVAL):
                yield f"{name}.{member}", inner if callable(inner) else home


def _parameters(value: Any) -> list[str]:
    try:
        names = list(inspect.signature(value).parameters) if callable(value) else []
    except ValueError:
        return []
    return [name for name in names if name not in ("self", "args", "kwargs")]


def _signature(value: Any) -> str:
    return f"({', '.join(_parameters(value))})" if callable(value) else ""


def _state(name: str, value: Any, used: set[str]) -> str:
    """What stands for a name here; notes that say so are added to ``used``."""
    ours = _ours(name)
    if ours is None:
        key = name if name in NOTES else name.split(".")[0]
        if key not in NOTES:
            raise LookupError(f"{_RIVAL} has {name}; there is nothing of this name here, and no note")
        used.add(key)
        return ": ".join(NOTES[key])
    if name in REFUSALS:
        return f"{REFUSED}: {REFUSALS[name]}"
    lacking = [f"{name}({p})" for p in _parameters(value) if callable(ours) and p not in _parameters(ours)]
    if unsaid := [key for key in lacking if key not in NOTES]:
        raise LookupError(f"{_RIVAL} has the parameter {', '.join(unsaid)}; ours have not, and there is no note")
    used.update(lacking)
    return "; ".join([SAME, *(f"`{key[len(name) + 1 : -1]}`: {': '.join(NOTES[key])}" for key in lacking)])


def _ours(name: str) -> Any:
    """Our object of this name; None if there is none."""
    top, *rest = name.split(".")
    found = next((v for p in _OURS if (v := getattr(importlib.import_module(p), top, None)) is not None), _MISSING)
    for part in rest:
        found = getattr(found, part, getattr(_instance(top), part, _MISSING))
    return None if found is _MISSING else (found if found is not None else "an attribute")


@cache
def _instance(name: str) -> Any:
    """One of ours, for the attributes that a class itself does not show."""
    ethos_u, vgf = arm_ethosu.EthosUCompileSpec("ethos-u55-128"), arm_vgf.VgfCompileSpec()
    made = {
        "EthosUCompileSpec": ethos_u,
        "EthosUQuantizer": arm_ethosu.EthosUQuantizer(ethos_u),
        "TOSAQuantizer": arm_tosa_core.TOSAQuantizer(vgf),
        "VgfCompileSpec": vgf,
        "VgfQuantizer": arm_vgf.VgfQuantizer(vgf),
    }
    return made.get(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", type=Path, metavar="FILE", help="write the table into this document")
    options = parser.parse_args()
    if options.update:
        update_block(options.update, "names", table())
    else:
        print(re.sub(r"[`|]", " ", table()))


if __name__ == "__main__":
    main()
