"""The folder of results that are kept on disk."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """``$ARM_TOSA_CACHE_DIR``, else ``arm-tosa`` in the user's cache folder of this system."""
    if own := os.environ.get("ARM_TOSA_CACHE_DIR"):
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "arm-tosa"
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (users if users.is_absolute() else Path.home() / ".cache") / "arm-tosa"  # as the standard has it
