"""Folders that ``arm-tosa deploy`` made."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from ..plugin import entry_points as plugins
from ..plugin.firmware import MANIFEST, Firmware, firmware_of
from ..support import foreign
from ..support.errors import UsageError
from ..support.runtime_package import Arrays
from .files import read
from .report import Result, say


def run_firmware(folder: Path, arrays: Arrays) -> Arrays:
    """Builds the firmware in a folder if needed, and runs it.

    Raises:
        UsageError: the folder holds none, or not this model's inputs were given.
        ToolError: building or running failed.
    """
    return list(_maker(folder).run(folder, arrays))


def verify_firmware(folder: Path, arrays: Arrays) -> Result:
    """Builds the firmware in a folder if needed, and compares it with the TOSA reference model.

    Raises:
        UsageError, ToolError: as ``run_firmware``; or the folder lacks the TOSA graphs.
    """
    verified = _maker(folder).verify(folder, arrays)

    def show(console: Console) -> None:
        for row in verified:
            agrees = "agree" if not row.wrong else f"of which {row.wrong} differ: does not agree"
            console.print(
                f"{row.model}, {row.output}: {row.size} numbers {agrees} with the TOSA reference model", markup=False
            )

    failed = any(row.wrong for row in verified)
    return Result({"file": str(folder), "outputs": [asdict(row) for row in verified]}, show, status=int(failed))


def _maker(folder: Path) -> Firmware:
    """What made the firmware in a folder."""
    file = folder / MANIFEST
    if not file.is_file():
        raise UsageError(f"{folder} holds no firmware: it has no {MANIFEST}, which `arm-tosa deploy` writes")
    try:
        target = foreign.words(foreign.parsed(read(file))["target"], "the target")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is damaged ({type(error).__name__}: {error}); deploy again") from error
    say(f"note: {folder} is built and run: its CMakeLists.txt and its program may do all that you may")
    return firmware_of(plugins.target(target))
