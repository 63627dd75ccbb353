"""Rules know builders by the protocols of ``op_builder`` alone, and mypy checks them: nothing opts out."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest

from arm_tosa_core import rules

FILES = sorted(Path(rules.__file__).parent.glob("*.py"))
#: What would hide a call from mypy, or decide in a rule how integers stand for reals.
UNWANTED = {"Any", "QParams", "quantizing"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_is_hidden_from_mypy(path: Path) -> None:
    text = path.read_text()
    names = {t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.NAME}
    assert not names & UNWANTED
    assert "type: ignore" not in text
    assert "lowering.builder" not in text
