"""Every task of the repository: ``nox -l`` lists them, ``nox -s NAME -- ARGS`` passes arguments on.

Environments live in ``.nox`` and are set up again only when what they are made of has changed, so that a second run
starts at once. Most sessions share one environment in which the packages are editable; ``tests-core``,
``tests-cortex-m``, ``tests-ethosu``, ``tests-vgf``, ``tests-runtime`` and ``plugin`` each have their own, into which
the built packages are installed with their declared dependencies only. What Debian packages the machine lacks is
installed with apt-get where that is allowed; elsewhere a warning names them, and the tests that need them are skipped.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import nox

# The ``nox`` command does not look here; ``tests`` has what sessions share with tests.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "tests")]

for module in ("checks", "long_runs", "releases", "tests"):
    import_module(f"nox_sessions.{module}")  # declares its sessions

nox.options.sessions = ["lint", "types", "tests"]
# nox_sessions.environments makes the environments: nox cannot share one between sessions.
nox.options.default_venv_backend = "none"
