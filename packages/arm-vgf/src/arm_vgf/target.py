"""The factory behind the ``arm_tosa.targets`` entry point ``vgf``."""

from __future__ import annotations

from arm_tosa_core.plugin.target import Target

from .compile_spec import VgfCompileSpec


def make_target() -> Target:
    """VGF with both profiles, and no flags for the model converter."""
    return VgfCompileSpec().target()
