"""Cycles of small graphs by Arm's NX estimator, by which rewrites for VGF may be chosen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arm_tosa_core.plugin.health import release
from arm_tosa_core.rewrites.cycle_estimate import CycleEstimate
from arm_tosa_core.rewrites.graph_parts import Surroundings
from arm_tosa_core.support import passing
from arm_tosa_core.support.errors import ToolError

from .model_converter import PACKAGE, convert
from .nx_estimator import NxEstimator, find_program

#: What the estimate must see: the accelerator computes these as one with the operator before them.
SURROUNDINGS = Surroundings(fused=("ADD", "CAST", "CLAMP", "MUL", "RESCALE", "SUB", "TABLE"))


@dataclass(frozen=True)
class NxCycles(CycleEstimate):
    """The estimator behind the model converter, with the options of one compile spec.

    What runs on the GPU's shaders counts as nothing. So a choice may move there only what adds no bytes to a shader
    that is there already.

    Args:
        system: as of ``NxEstimator.of``.
        flags: of the model converter.
    """

    name = "nx"
    packages = ("arm_vgf",)
    system: str | None = None
    flags: tuple[str, ...] = ()

    def key(self, tosa: bytes, beside: Mapping[str, Any] | None = None) -> str | None:
        """As of ``CycleEstimate``."""
        program, converter = find_program(), release("model-converter", PACKAGE)
        if program is None or converter is None:
            return None
        parts = [NxEstimator.of(program, self.system).identity, converter, self.flags, sorted((beside or {}).items())]
        return hashlib.sha256(repr(parts).encode() + tosa).hexdigest()

    def ask(self, graphs: Sequence[bytes]) -> list[float | None]:
        """As of ``CycleEstimate``."""
        return [self._ask(tosa) for tosa in graphs]

    def _ask(self, tosa: bytes) -> float | None:
        """None too where nothing of a graph is rated."""
        program = find_program()
        assert program is not None  # or it would have no key
        try:
            vgf = convert(tosa, self.flags)
            return NxEstimator.of(program, self.system).estimate(vgf).figures.get("cycles")
        except ToolError as error:
            passing.note(error)
            return None
