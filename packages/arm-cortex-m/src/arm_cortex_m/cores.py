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
        cycles: for an instruction of compiled C: EEMBC's CoreMark/MHz of the core (3.54, 5.29, 4.10, 4.40, 6.28 in the
            table of github.com/sochub/Level), and the instructions of an iteration with GCC's -Ofast in QEMU (274,700,
            263,200 on Cortex-M7 and 268,000 with the instructions of Cortex-M55).
        cycles_of_function, cycles_of_depthwise: the same for the functions of :mod:`arm_cortex_m.kernels`. With Helium:
            cycles of the first layers of MobileNetV2 on an Alif Ensemble E8, with CMSIS-NN
            (github.com/pytorch/executorch/issues/17651), by CMSIS-NN's instructions in QEMU: from 1.17 to 1.22 for
            dense convolutions, from 1.42 to 1.75 for depthwise ones; on Cortex-M85 less by the ratio of ``cycles``.
        clock_mhz, chip: of a chip that has it.
    """

    name: str
    vectors: str
    flags: str
    cycles: float
    cycles_of_function: float
    cycles_of_depthwise: float
    clock_mhz: int
    chip: str


#: By name.
CORES = {
    core.name: core
    for core in (
        Core("cortex-m4", "DSP extension", "-mfpu=fpv4-sp-d16 -mfloat-abi=hard", 1.03, 1.03, 1.03, 120, "STM32L4R5"),
        Core("cortex-m7", "DSP extension", "-mfpu=fpv5-d16 -mfloat-abi=hard", 0.72, 0.72, 0.72, 480, "STM32H743"),
        Core("cortex-m33", "DSP extension", "-mfpu=fpv5-sp-d16 -mfloat-abi=hard", 0.91, 0.91, 0.91, 160, "STM32U575"),
        Core("cortex-m55", "Helium", "-mfloat-abi=hard", 0.85, 1.2, 1.6, 400, "Alif Ensemble E8"),
        Core("cortex-m85", "Helium", "-mfloat-abi=hard", 0.59, 0.84, 1.12, 480, "Renesas RA8M1"),
    )
}
#: The core that is assumed beside an NPU.
BESIDE_NPU = CORES["cortex-m55"]
