"""Acme's NPU as a target of arm-tosa-core: an example of what a third party writes."""

from __future__ import annotations

from arm_tosa_core.extend import Compiler, Host, Target

from . import container
from .limits import small_kernels
from .split import SPLIT_WIDE_CONV


def make_target() -> Target:
    """What the entry point ``acme`` of the group ``arm_tosa.targets`` leads to."""
    return Target(
        name="acme",
        spec="TOSA-1.0+INT",
        checks=(small_kernels,),
        rewrites=(SPLIT_WIDE_CONV,),
        description="Acme NPU, an example of a third party's target",
        compiler=Compiler(compile=container.pack, suffix=".acme", backend_id="AcmeBackend"),
        host=Host(run=container.run),
    )
