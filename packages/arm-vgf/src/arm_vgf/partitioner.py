"""Choosing what of a model goes to VGF."""

from __future__ import annotations

from arm_tosa_core.partitioner import TOSAPartitioner

from . import backend  # noqa: F401  (ExecuTorch looks for VgfBackend among the classes that are imported)
from .extract import BACKEND_ID


class VgfPartitioner(TOSAPartitioner):
    """Delegates what the specification of a ``VgfCompileSpec`` takes to ``VgfBackend``."""

    _backend_id = BACKEND_ID
