"""Quantizing a model for VGF."""

from __future__ import annotations

from arm_tosa_core.quantize.quantizer import TOSAQuantizer


class VgfQuantizer(TOSAQuantizer):
    """Annotates a model (PT2E) so that a ``VgfCompileSpec`` with the INT profile takes it."""
