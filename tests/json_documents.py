"""A pytest plugin: every JSON document that a command prints in a test is as the schema in the package says.

The schema is strict, so that a key that it lacks fails the test which prints it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any, TextIO

import pytest

from arm_tosa_core.cli import report


@pytest.fixture(scope="session", autouse=True)
def _documents_are_as_the_schema_says() -> Iterator[None]:
    validator: Any = None

    def checked(data: Any, out: TextIO) -> None:
        nonlocal validator
        if validator is None:
            import jsonschema  # late: most tests print no JSON

            text = resources.files("arm_tosa_core.cli").joinpath("schema.json").read_text()
            validator = jsonschema.Draft202012Validator(json.loads(text))
        validator.validate(data)
        printed(data, out)

    printed = report._print_json
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_print_json", checked)
        yield
