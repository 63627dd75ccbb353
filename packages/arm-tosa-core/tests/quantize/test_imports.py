"""What a user sees when the quantizer is imported: nothing."""

from __future__ import annotations

import subprocess
import sys


def test_importing_the_quantizer_logs_nothing() -> None:
    code = "import logging; from arm_tosa_core import TOSAQuantizer; assert logging.root.manager.disable == 0"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("", "")
