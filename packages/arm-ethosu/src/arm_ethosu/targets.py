"""Ethos-U accelerators as ``Target`` plugins, and the factories behind the ``arm_tosa.targets`` entry points.

There is one factory per accelerator, ``targets:ethos_u55_128`` and so on, made from ``accelerators.ACCELERATORS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.health import tool
from arm_tosa_core.plugin.target import Preferences, Target
from arm_tosa_core.support.errors import ToolError

from .accelerators import ACCELERATORS, DEFAULTS, family_of
from .compile_spec import EthosUCompileSpec

if TYPE_CHECKING:
    import numpy as np


VELA = tool("vela", "ethos-u-vela", "compiling for Ethos-U")

_PREFERENCES = Preferences(
    # The shifts of the accelerator's own addition: Vela then uses it in place of three operators.
    addition_shifts={8: 19, 16: 14},
    # The largest window of the accelerator's depthwise convolution.
    largest_mean_window=64,
)


def ethos_u_target(
    accelerator: str,
    compile: Callable[[bytes, Mapping[str, str]], bytes],
    estimate: Callable[[bytes], Mapping[str, float]] | None = None,
) -> Target:
    """The target for one accelerator; ``compile`` and ``estimate`` are Vela bound to its options."""
    from .constraints import checks_for
    from .rewrites import rewrites_for

    family = family_of(accelerator)
    macs = accelerator.rpartition("-")[2]
    return Target(
        name=accelerator,
        spec=DEFAULTS[family].tosa_spec,
        checks=checks_for(family),
        rewrites=rewrites_for(accelerator),
        compile=compile,
        estimate=estimate,
        run=_run if find_spec("arm_runtime") else None,
        suffix=".vela",
        preferences=_PREFERENCES,
        joins_int48_rescales=family == "u85",
        health=(VELA,),
        backend_id="EthosUBackend",
        description=f"Ethos-{family.upper()} with {macs} MACs per cycle, compiled by Vela",
        compile_spec=partial(EthosUCompileSpec, accelerator),
    )


def _run(payload: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Runs a payload on the functional model; outputs are flat integers of the payload's element size."""
    from importlib import import_module

    ethosu = import_module("arm_runtime.ethosu")
    try:
        outputs: list[np.ndarray[Any, Any]] = ethosu.run(payload, inputs)
    except ethosu.EthosUError as error:
        raise ToolError("the Ethos-U functional model", f"stopped: {error}") from error
    return outputs


def __getattr__(name: str) -> Callable[[], Target]:
    accelerator = name.replace("_", "-")
    if accelerator not in ACCELERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return lambda: EthosUCompileSpec(accelerator).target()
