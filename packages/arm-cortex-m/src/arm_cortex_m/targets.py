"""The factories behind the ``arm_tosa.targets`` entry points: one for each core."""

from __future__ import annotations

from arm_tosa_core.plugin.target import Compiler, Host, Preferences, Reporting, Target

from .cores import BACKEND_ID, CORES
from .firmware.estimate import CLOCK, SRAM, compiled, figures, require_options
from .firmware.on_host import run
from .firmware.processor import SPEC, has_kernel
from .health import HEALTH


def cortex_m4() -> Target:
    return _target("cortex-m4")


def cortex_m7() -> Target:
    return _target("cortex-m7")


def cortex_m33() -> Target:
    return _target("cortex-m33")


def cortex_m55() -> Target:
    return _target("cortex-m55")


def cortex_m85() -> Target:
    return _target("cortex-m85")


def _target(name: str) -> Target:
    """All cores compute the same, so that they have the same checks and payloads."""
    core = CORES[name]
    return Target(
        name=name,
        spec=SPEC,
        description=f"Cortex-{name.removeprefix('cortex-').upper()} ({core.vectors}) without an NPU, in C",
        checks=(has_kernel,),
        # Sums along both axes are one step, and a convolution has weights as large as the image: that of DS-CNN takes
        # 8 KB of flash, and 57,000 cycles more on a Cortex-M4. Of 16 bits the sums take 270,000 more there.
        preferences=Preferences(largest_mean_window=0),
        compiler=Compiler(
            compile=lambda tosa, options: compiled(core, tosa, options).payload,
            compile_in_detail=lambda tosa, options: compiled(core, tosa, options),
            backend_id=BACKEND_ID,
            options=(CLOCK, SRAM),
            require_options=lambda options: require_options(core, options),
        ),
        host=Host(run=run, health=HEALTH, firmware="arm_cortex_m.firmware:FIRMWARE"),
        report=Reporting(estimate=lambda tosa: figures(core, tosa)),
    )
