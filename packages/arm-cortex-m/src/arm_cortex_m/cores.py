"""Cores of Cortex-M: their names are those of the targets, and what compilers call them."""

from __future__ import annotations

from dataclasses import dataclass

#: Of the ExecuTorch delegate whose payload is a TOSA flatbuffer for a Cortex-M. ``CortexMBackend`` is ExecuTorch's own.
BACKEND_ID = "CortexMTOSABackend"


@dataclass(frozen=True)
class Core:
    """A core.

    Args:
        name: the target, and the argument of GCC's and Clang's ``-mcpu``.
        vectors: its instructions on several numbers at once, for people.
        flags: of GCC besides: the floating point unit.
    """

    name: str
    vectors: str
    flags: str


#: By name.
CORES = {
    core.name: core
    for core in (
        Core("cortex-m4", "DSP extension", "-mfpu=fpv4-sp-d16 -mfloat-abi=hard"),
        Core("cortex-m7", "DSP extension", "-mfpu=fpv5-d16 -mfloat-abi=hard"),
        Core("cortex-m33", "DSP extension", "-mfpu=fpv5-sp-d16 -mfloat-abi=hard"),
        Core("cortex-m55", "Helium", "-mfloat-abi=hard"),
        Core("cortex-m85", "Helium", "-mfloat-abi=hard"),
    )
}
#: The core that is assumed beside an NPU.
BESIDE_NPU = CORES["cortex-m55"]
