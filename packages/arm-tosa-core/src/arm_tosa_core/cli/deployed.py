"""Folders that ``arm-tosa deploy`` made."""

from __future__ import annotations

import json
from pathlib import Path

from ..plugin import entry_points as plugins
from ..plugin.firmware import MANIFEST, firmware_of
from ..support.errors import UsageError
from ..support.runtime_package import Arrays


def run_firmware(folder: Path, arrays: Arrays) -> Arrays:
    """Builds the firmware in a folder if needed, and runs it.

    Raises:
        UsageError: the folder holds none, or not this model's inputs were given.
        ToolError: building or running failed.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise UsageError(f"{folder} holds no firmware: it has no {MANIFEST}, which `arm-tosa deploy` writes")
    try:
        target = json.loads(file.read_text("utf-8"))["target"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is damaged ({type(error).__name__}: {error}); deploy again") from error
    return list(firmware_of(plugins.target(str(target))).run(folder, arrays))
