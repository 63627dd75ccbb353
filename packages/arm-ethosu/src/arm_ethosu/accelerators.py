"""The Ethos-U accelerators that Vela 5.2 compiles for, and the largest numbers that their registers hold, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arm_tosa_core.support.errors import UsageError

Family = Literal["u55", "u65", "u85"]


@dataclass(frozen=True)
class Defaults:
    """What all accelerators of one family share.

    Args:
        tosa_spec: the TOSA specification they are compiled from.
        system_config: section of vela.ini used when the user names none.
        memory_mode: likewise.
    """

    tosa_spec: str
    system_config: str
    memory_mode: str


# Ethos-U65 runs the operators of Ethos-U55; the extension is named after the smaller one.
DEFAULTS: dict[Family, Defaults] = {
    "u55": Defaults("TOSA-1.0+INT+int16+int4+u55", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u65": Defaults("TOSA-1.0+INT+int16+int4+u55", "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "u85": Defaults("TOSA-1.0+INT+int16+int4+cf", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
}

#: Multiply-accumulate units per cycle that each family is built with.
MACS: dict[Family, tuple[int, ...]] = {
    "u55": (32, 64, 128, 256),
    "u65": (256, 512),
    "u85": (128, 256, 512, 1024, 2048),
}

#: Every accelerator by the name that Vela and the user type.
ACCELERATORS: dict[str, Family] = {f"ethos-{family}-{macs}": family for family in MACS for macs in MACS[family]}


def family_of(accelerator: str) -> Family:
    """The family of an accelerator.

    Raises:
        UsageError: there is no such accelerator; lists those there are.
    """
    try:
        return ACCELERATORS[accelerator]
    except KeyError:
        raise UsageError(f"unknown Ethos-U target {accelerator!r}; valid ones: {', '.join(ACCELERATORS)}") from None


#: Largest channel count, and largest axis of what Vela transposes. Vela splits longer heights and widths by itself.
MAX_AXIS = 1 << 16
#: Largest stride.
MAX_STRIDE = 3
#: Longest padding at top, bottom, left and right; Vela shortens what is longer without a word.
MAX_PADDING = (127, 255, 127, 255)
#: Most indices of a GATHER or SCATTER; Vela writes the lower 16 bits of what is more.
MAX_INDICES = (1 << 16) - 1
#: Most images of an operator with windows. Vela makes an operator of each, and its time goes with their square: of one
#: convolution 1 s for 1024, 22 s for 16384.
MAX_IMAGES = 1 << 14
