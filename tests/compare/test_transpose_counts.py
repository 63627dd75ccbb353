"""The rows of what the rival transposes: one delegate, results as in eager PyTorch, no TRANSPOSE more than its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import executorch

_ROOT = Path(__file__).resolve().parents[2]
#: Passes here; the rival expects that its own results are wrong.
_RIGHT = {"conv3d_rank5_channels_last"}


def test_no_row_has_more_transposes_than_the_rival_expects() -> None:
    (root,) = executorch.__path__
    rows = Path(root, "backends/arm/test/misc/test_transpose_counts.py")
    words = ["-m", "pytest", "-q", "-rf", "-p", "benchmarks.rival_suite.plugin", "-p", "no:cacheprovider", str(rows)]
    # in a process of its own: ours stand where the rival's classes are imported from
    done = subprocess.run([sys.executable, *words], cwd=_ROOT, capture_output=True, text=True, timeout=1800)
    failed = set(re.findall(r"^FAILED [^\[]*\[(.+?)\]", done.stdout, re.MULTILINE)) - _RIGHT
    assert re.search(r"\d{2} passed", done.stdout), (done.stdout + done.stderr)[-3000:]
    assert not failed, done.stdout[-3000:]
