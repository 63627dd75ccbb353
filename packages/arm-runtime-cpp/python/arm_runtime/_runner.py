"""The console script ``arm_runner``: the C++ program of that name in this package."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import FOLDER


def main() -> NoReturn:
    """Becomes the program."""
    program = FOLDER / "bin" / "arm_runner"
    os.execv(program, ["arm_runner", *sys.argv[1:]])
