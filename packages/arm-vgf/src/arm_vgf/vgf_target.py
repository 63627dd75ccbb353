"""VGF as a ``Target``: its checks, its rewrites, the model converter, and the runtime that runs payloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from arm_tosa_core.plugin.target import Compiled, Compiler, Host, Preferences, Reporting, Span, Step, Target
from arm_tosa_core.support.errors import ToolError, UsageError
from arm_tosa_core.tosa.ir import DType
from arm_tosa_core.tosa.loader import load

from .choices import rewrites_for
from .constraints import checks_for
from .health import HEALTH
from .nx_estimator import find_program
from .nx_layers import in_detail
from .sizes_block import with_sizes
from .vgf_format import BACKEND_ID, check_vgf
from .vgf_ports import outputs_in_order, ports

if TYPE_CHECKING:
    import numpy as np

    from arm_tosa_core.exir.compile_spec import ArmCompileSpec
    from arm_tosa_core.rewrites.cycle_estimate import CycleEstimate
    from arm_tosa_core.tosa.specification import TosaSpecification

    from .nx_databases import NxEstimate

#: What is said of weights of 4 bits.
_NO_SMALLER = "weights of 4 bits have 8 in the .vgf: the model converter writes them so. Its size is that of int8"


def vgf_target(
    tosa_spec: TosaSpecification,
    compiler_flags: Sequence[str],
    compile: Callable[[bytes, Mapping[str, str]], bytes],
    compile_spec: Callable[..., ArmCompileSpec],
    estimated: Callable[[bytes], NxEstimate],
    cycles: CycleEstimate,
    *,
    samplers: bool = False,
) -> Target:
    """VGF with a specification.

    Args:
        compile: the model converter with these flags.
        estimated: what Arm's estimator says of a VGF, if it is installed.
        cycles: the same of parts of graphs, for rewrites that it chooses.
        samplers: as of ``Preferences``.
    """
    runs = find_spec("arm_runtime") is not None

    def compile_in_detail(tosa: bytes, options: Mapping[str, str]) -> Compiled:
        vgf = compile(tosa, options)
        made = in_detail(vgf, tosa, estimated(vgf) if find_program() is not None else None)
        small = any(tensor.dtype is DType.INT4 for op in load(tosa).ops for tensor in op.inputs)
        return replace(made, notes=[*made.notes, _NO_SMALLER]) if small else made

    def estimate(tosa: bytes) -> Mapping[str, float]:
        return estimated(compile(tosa, {})).figures

    estimates = find_program() is not None
    checks = checks_for(compiler_flags)
    return Target(
        name="vgf",
        spec=tosa_spec,
        description="SPIR-V for Vulkan with VK_ARM_tensors and VK_ARM_data_graph",
        checks=checks,
        rewrites=rewrites_for(cycles, tosa_spec, checks),
        preferences=Preferences(samplers=samplers, square_images=False, maxima=True),
        compiler=Compiler(
            compile=compile,
            compile_in_detail=compile_in_detail,
            suffix=".vgf",
            backend_id=BACKEND_ID,
            backend="arm_vgf.backend:VgfBackend",
            compile_spec=compile_spec,
            sizes=with_sizes,
            ports=ports,
            outputs_in_order=outputs_in_order,
        ),
        host=Host(
            run=_run if runs else None,
            profile=_profile,
            plan=_plan if runs else None,
            profile_event="VGF host: run",
            health=HEALTH,
        ),
        report=Reporting(estimate=estimate if estimates else None, extract=_extract),
    )


def _run(vgf: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    return _profile(vgf, inputs)[0]


def _profile(vgf: bytes, inputs: Sequence[np.ndarray[Any, Any]]) -> tuple[list[np.ndarray[Any, Any]], Sequence[Span]]:
    from importlib import import_module

    try:
        with import_module("arm_runtime.vgf").Session(vgf, sizes=[x.shape for x in inputs]) as session:
            session.profile()  # from here on, runs are noted
            outputs: list[np.ndarray[Any, Any]] = session.run(inputs)
            return outputs, [(event.begin, event.end, event.name) for event in session.profile()]
    except RuntimeError as error:
        raise ToolError("the VGF runtime", f"failed: {error}") from error


def _plan(vgf: bytes, engine: str | None) -> Sequence[Step]:
    from importlib import import_module

    try:
        with import_module("arm_runtime.vgf").Session(vgf, engine=engine) as session:
            if session.engine != "compute":
                raise UsageError(
                    f"the engine {session.engine!r} hands whole graphs to the driver, which shows no plan: "
                    "--engine compute shows one"
                )
            steps: list[Step] = session.plan()
            return steps
    except RuntimeError as error:
        raise ToolError("the VGF runtime", f"failed: {error}") from error


def _extract(payload: bytes) -> tuple[str, bytes]:
    check_vgf(payload)
    return ".vgf", payload
