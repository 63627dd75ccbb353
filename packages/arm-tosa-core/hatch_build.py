"""Puts the scripts that draw reports into the package; they are not in the repository.

npm fetches them as ``report_scripts/package-lock.json`` says, which has a digest of each. Where they are there already,
as in a source distribution, nothing is fetched. Without npm the package is built without them, and reports say so.
``python hatch_build.py`` does the same for a working tree.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
TO = ROOT / "src" / "arm_tosa_core" / "report" / "scripts"
LOCK = "package-lock.json"
#: Of the scripts, and of dagre, which cytoscape-dagre holds.
LICENSES = ROOT / "licenses"
FILES = {
    "cytoscape": "dist/cytoscape.min.js",
    "cytoscape-dagre": "dist/cytoscape-dagre.min.js",
    "plotly.js-basic-dist-min": "plotly-basic.min.js",
    "tabulator-tables": "dist/js/tabulator.min.js",
}
STYLE = ("tabulator-tables", "dist/css/tabulator_simple.min.css")


class ReportScripts(BuildHookInterface):  # type: ignore[misc]  # hatchling is untyped
    """Hatch calls it before it collects the files of a distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not fetch():
            self.app.display_warning("npm is not installed: this build of arm-tosa-core cannot write reports as pages")


def fetch() -> bool:
    """Whether the scripts are there, or could be fetched."""
    lock = ROOT / "report_scripts" / LOCK
    if (TO / LOCK).is_file() and (TO / LOCK).read_bytes() == lock.read_bytes():
        return True
    npm = shutil.which("npm")
    if npm is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", LOCK):
            shutil.copy(lock.with_name(name), folder)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=folder, check=True, timeout=300)
        modules = Path(folder, "node_modules")
        TO.mkdir(exist_ok=True)
        for package, file in (*FILES.items(), STYLE):
            shutil.copy(modules / package / file, TO / Path(file).name)
            if (modules / package / "LICENSE").read_bytes() != (LICENSES / f"LICENSE.{package}").read_bytes():
                raise RuntimeError(f"the license of {package} has changed: read it, and copy it into {LICENSES}")
        shutil.copy(lock, TO / LOCK)  # last: it says that the others are whole
    return True


if __name__ == "__main__":
    raise SystemExit(0 if fetch() else "npm is not installed")
