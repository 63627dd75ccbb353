"""Choosing the parts of a model for VGF."""

from __future__ import annotations

from arm_tosa_core.exir.partitioner import TOSAPartitioner


class VgfPartitioner(TOSAPartitioner):
    """Delegates the operators that a ``VgfCompileSpec``'s specification takes to ``VgfBackend``."""
