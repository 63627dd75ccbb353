"""The console script ``arm_runner``: the C++ program of that name in this package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import EXECUTORCH, FOLDER


def main() -> NoReturn:
    """Becomes the program, which finds ExecuTorch where Python does."""
    program = FOLDER / "bin" / "arm_runner"
    searched = [*(str(folder) for folder in EXECUTORCH), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, searched))
    os.execv(program, ["arm_runner", *sys.argv[1:]])
