"""One Ethos-U accelerator as a ``Target``: checks, rewrites, Vela, and the functional model that runs payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.health import KnownVersions, tool
from arm_tosa_core.plugin.target import Compiler, Host, Port, Preferences, Reporting, Target
from arm_tosa_core.support.errors import ToolError
from arm_tosa_core.support.external_tools import find_tool

from .accelerators import DEFAULTS, Family, family_of
from .constraints import checks_for
from .estimate_cache import Estimate
from .rewrites import rewrites_for
from .vela_calls import VelaCalls

if TYPE_CHECKING:
    import numpy as np

    from arm_tosa_core.exir.compile_spec import ArmCompileSpec

VELA = tool("vela", KnownVersions("ethos-u-vela", "arm-ethosu"), "compiling for Ethos-U")


def _preferences(family: Family) -> Preferences:
    return Preferences(
        # The shifts of the accelerator's own addition: Vela then uses it in place of three operators.
        addition_shifts={8: 19, 16: 14},
        # The largest window of the accelerator's depthwise convolution.
        largest_mean_window=64,
        # Vela transposes what it sums along another axis than the last: a linear layer of 64 channels and the mean over
        # its 200 rows take 16,082 cycles on Ethos-U55-128, and 11,934 with the convolution (Ethos-U85-256: 13,100 and
        # 5,536); a convolution of [1, 40, 40, 32] and its mean over the height 108,272 and 26,060 on Ethos-U85-256.
        convolved_sums=True,
        # Vela rescales on the way to a maximum there: conv, PReLU, conv of [32, 32, 32] take 36,600 cycles in place of
        # 46,700 on Ethos-U85-256, and 341,000 in place of 153,000 on Ethos-U55-128.
        maxima=family == "u85",
        # The others have no GATHER.
        sampled_by_products=family != "u85",
        # Results that leave 32 bits are saturated.
        wraps=False,
    )


def ethos_u_target(
    accelerator: str,
    *,
    calls: VelaCalls,
    choices: Estimate,
    compile_spec: Callable[..., ArmCompileSpec],
    of_program: Callable[[Mapping[str, Any]], ArmCompileSpec],
) -> Target:
    """The target for one accelerator.

    Args:
        choices: rates parts of graphs.
    """
    family = family_of(accelerator)
    macs = accelerator.rpartition("-")[2]
    return Target(
        name=accelerator,
        spec=DEFAULTS[family].tosa_spec,
        description=f"Ethos-{family.upper()} with {macs} MACs per cycle, compiled by Vela",
        checks=checks_for(family),
        rewrites=rewrites_for(accelerator, choices),
        preferences=_preferences(family),
        compiler=Compiler(
            compile=calls.compile,
            compile_in_detail=calls.compile_in_detail,
            suffix=".vela",
            backend_id="EthosUBackend",
            backend="arm_ethosu.backend:EthosUBackend",
            compile_spec=compile_spec,
            of_program=of_program,
            warm_up=_warm_up,
            ports=_ports,
            with_names=calls.with_names,
            without_names=_without_names,
        ),
        host=Host(
            run=_run if find_spec("arm_runtime") else None,
            profile_event="EthosU run",
            firmware="arm_ethosu.firmware:FIRMWARE",
            health=(VELA,),
        ),
        report=Reporting(estimate=calls.estimate, timing=calls.timing, advice="arm_ethosu.advice:candidates"),
    )


def _warm_up() -> None:
    from . import vela_batch

    with suppress(ToolError):  # whoever compiles will say so
        vela_batch.warm_up(find_tool("vela", package="ethos-u-vela"))


def _without_names(payload: bytes, named: Mapping[str, bytes]) -> bytes:
    from .payload import whole

    return whole(payload, named)


def _ports(payload: bytes) -> tuple[Sequence[Port], Sequence[Port]]:
    from .payload import ports

    return ports(payload)


def _run(payload: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Runs a payload on the functional model; outputs are flat integers of the payload's element size."""
    from importlib import import_module

    ethosu = import_module("arm_runtime.ethosu")
    try:
        outputs: list[np.ndarray[Any, Any]] = ethosu.run(payload, inputs)
    except ethosu.EthosUError as error:
        raise ToolError("the Ethos-U functional model", f"stopped: {error}") from error
    return outputs
