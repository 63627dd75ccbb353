"""Writes a report as one HTML page without references to other files."""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from ..support.atomic_files import require_writable, write_atomic
from ..support.errors import UsageError

_PARTS = resources.files(__package__)
_SCRIPTS = _PARTS / "scripts"
_LIBRARIES = ("cytoscape.min.js", "cytoscape-dagre.min.js", "plotly-basic.min.js", "tabulator.min.js")
#: Text that would end the element of a script, and the same text for JavaScript.
_END, _ESCAPED_END = re.compile("</(?=script)", re.IGNORECASE), r"<\\/"
_STYLE = "tabulator_simple.min.css"


def require_page(path: Path) -> None:
    """Says early that no page can be written there.

    Raises:
        UsageError: the suffix is another, the file cannot be written, or this build of the package came without the
            scripts.
    """
    if path.suffix != ".html":
        raise UsageError(f"{path}: the suffix must be .html")
    require_writable(path)
    _require_scripts()


def write_page(path: Path, data: dict[str, Any]) -> None:
    """Writes the page of ``page_data``'s result, all of it or nothing.

    Raises:
        UsageError: as ``require_page``.
    """
    write_atomic(path, page(data))


def has_scripts() -> bool:
    """Whether this build of the package came with the scripts that draw."""
    return all((_SCRIPTS / name).is_file() for name in (*_LIBRARIES, _STYLE))


def _require_scripts() -> None:
    if not has_scripts():
        raise UsageError(
            "this build of arm-tosa-core is without the scripts for the report page, because npm was missing when it "
            "was built: install npm, then install arm-tosa-core again (in a working tree: python "
            "packages/arm-tosa-core/hatch_build.py)"
        )


def page(data: dict[str, Any]) -> str:
    """The page of ``page_data``'s result, as HTML.

    Raises:
        UsageError: this build of the package came without the scripts.
    """
    _require_scripts()
    *libraries, script = (
        _END.sub(_ESCAPED_END, file.read_text(encoding="utf-8"))
        for file in (*(_SCRIPTS / name for name in _LIBRARIES), _PARTS / "page.js")
    )
    return Template((_PARTS / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(data["title"]),
        policy=security_policy([*libraries, script]),
        style=(_SCRIPTS / _STYLE).read_text(encoding="utf-8") + (_PARTS / "page.css").read_text(encoding="utf-8"),
        libraries="\n".join(map(_script, libraries)),
        data=json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
        script=_script(script),
    )


def security_policy(scripts: Sequence[str] = ()) -> str:
    """The ``Content-Security-Policy`` of a page that runs these scripts and fetches nothing.

    Whatever names of a model would become, it is no script: the browser runs those with one of these digests only.
    """
    digests = (b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    # Libraries add styles to their drawings, and the picture of the network for print is a data: URL.
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def _script(text: str) -> str:
    return f"<script>{text}</script>"
