"""Choosing what of a model goes to VGF."""

from __future__ import annotations

from arm_tosa_core.exir.partitioner import TOSAPartitioner


class VgfPartitioner(TOSAPartitioner):
    """Delegates what the specification of a ``VgfCompileSpec`` takes to ``VgfBackend``."""
