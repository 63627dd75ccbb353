"""The schema of what ``--json`` prints. That documents follow it is checked wherever a test prints one."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from typing import Any

import jsonschema
import pytest
from typer.main import get_command

from arm_tosa_core.cli.main import app
from arm_tosa_core.cli.report import SCHEMA

TEXT = resources.files("arm_tosa_core.cli").joinpath("schema.json").read_text()
DOCUMENT: dict[str, Any] = json.loads(TEXT)

#: The digest of the schema of each version. One that was released does not change: a changed schema has a new version.
VERSIONS = {"1.0": "d29405a22bc493ad79bd549d3a601f439c0ff32defc969808b8d596f8847ae2e"}

POINT = {
    "target": "t",
    "chip": None,
    "quantize": "int8",
    "options": {},
    "parameters": {},
    "command": "c",
    "error": "no",
}


def test_a_changed_schema_has_a_new_version() -> None:
    assert DOCUMENT["version"] == DOCUMENT["$defs"]["version"]["const"] == SCHEMA == list(VERSIONS)[-1]
    assert hashlib.sha256(TEXT.encode()).hexdigest() == VERSIONS[SCHEMA]


def test_every_command_has_a_schema() -> None:
    commands = vars(get_command(app))["commands"]
    assert sorted(commands) == sorted(DOCUMENT["commands"])
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)


@pytest.mark.parametrize(
    ("document", "is_right"),
    [
        ({"schema": SCHEMA, "error": "no"}, True),
        ({"schema": "0.9", "error": "no"}, False),
        ({"error": "no"}, False),
        ({"schema": SCHEMA, "model": "m", "results": [POINT]}, True),
        ({"schema": SCHEMA, "model": "m", "results": [{**POINT, "figures": {}}]}, False),
        ({"schema": SCHEMA, "file": "f"}, True),
        ({"schema": SCHEMA, "file": "f", "other": 1}, False),
        ([{"file": "f", "backend_id": "b", "method": "forward", "bytes": 1}], True),
        ([{"file": "f", "backend_id": "b", "method": "forward", "bytes": "1"}], False),
    ],
)
def test_the_schema_is_strict(document: object, is_right: bool) -> None:
    """It refuses keys that it does not know, those that are missing, and other types."""
    assert jsonschema.Draft202012Validator(DOCUMENT).is_valid(document) is is_right
