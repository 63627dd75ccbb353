"""The page on compatibility has every public name of executorch.backends.arm, with what stands for it here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_names_is_complete(tmp_path: Path) -> None:
    page = (ROOT / "docs/reference/compatibility.md").read_text()
    again = tmp_path / "compatibility.md"
    again.write_text(page)
    # in a process of its own: the rival's classes have the names of ours
    command = [sys.executable, "-m", "benchmarks.rival_names", "--update", str(again)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert again.read_text() == page, "names have changed: run the command on the page again"
