"""Targets for tests, from fields of all their parts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from arm_tosa_core.plugin.target import Compiler, Host, Reporting, Target
from arm_tosa_core.tosa.specification import TosaSpecification

_PARTS = {"compiler": Compiler, "host": Host, "report": Reporting}


def target(name: str, spec: str | TosaSpecification, **given: Any) -> Target:
    """A target; each field goes to the part that has one of this name."""
    parts = {
        part: kind(**{field.name: given.pop(field.name) for field in fields(kind) if field.name in given})
        for part, kind in _PARTS.items()
    }
    return Target(name=name, spec=spec, **parts, **given)
